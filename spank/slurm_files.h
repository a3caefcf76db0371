/* Files by which Slurm runs a task, and by which people's commands find Slurm. */
#pragma once

#include "views.h"

/* The directory of a batch script, at its own place, in an empty spool directory. */
int view_script(struct views *views, const char *script, struct refusal *why);

/* Configuration, and the socket that says who somebody is. */
int view_client(struct views *views, struct refusal *why);
