/* What Slurm is told about this node, by its own commands: root may use them wherever slurmd runs. */
#pragma once

#define REASON "penstock-walls: " /* how the reasons of our drains begin; operator/nodeset/drains.py knows it, too */

/* Both return 0 when Slurm knows, and -1 when it is to be told again: it knows no such node yet, or did not answer. */

/* Drains the node, unless it drains already because of somebody else, whose reason stays. */
int slurm_drain(const char *node, const char *words);

/* Gives the node back, if it drains because of us. */
int slurm_undrain(const char *node);
