/* What the plugin asks Slurm, and what people ask the plugin for by options and variables. */
#pragma once

#include <slurm/spank.h>
#include <stddef.h>

#include "options.h"
#include "policy.h"
#include "refusal.h"
#include "variables.h"

/* Registers the container options wherever they can be given. Where Pyxis has them, or for NULL, they are not ours. */
void asking_register(spank_t spank);

/* What was asked for by options so far. */
const struct options *asking_options(void);

/* Adds what is asked for by variables of the job and was not by options; refuses options that were wrong. */
int asking_environment(spank_t spank, struct refusal *why);

/* 17.batch, 17.0 */
void step_name(spank_t spank, char *name, size_t size);

/* job-17: what the step's room is called */
void step_host(spank_t spank, char *name, size_t size);

/* The script of a batch step, as slurmd wrote it down; NULL for other steps. */
int step_script(spank_t spank, const char **script, struct refusal *why);

/* Leaves a tenant's task the variables that may go through, adds the image's, and says where it is at home. */
int step_environment(spank_t spank, const struct policy *policy, const struct variables *variables,
		     const char *workdir, struct refusal *why);

/* Gives a user's task the variables of its image, in place of the job's but for those of --container-env. */
int step_variables(spank_t spank, const struct variables *variables, struct refusal *why);
