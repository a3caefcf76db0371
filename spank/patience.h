/*
 * Slurm opens the files of a step before it asks us anything, and whoever opens a pipe that has a name waits for its
 * other end: a tenant could keep slurmstepd waiting for ever, and with it slurmd and the node.
 */
#pragma once

#include "refusal.h"

/* From now on whatever this thread waits for in the kernel is interrupted, after a while and again and again. */
int patience_begin(struct refusal *why);

/* No longer. */
void patience_end(void);
