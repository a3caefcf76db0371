/*
 * What Slurm bounds a task by: cgroups, by which it also finds and ends it, and processors. For one more process of the
 * step, which Slurm itself does not start.
 */
#pragma once

#include <sys/types.h>

#include "refusal.h"

/* In slurmstepd, as root, of each task when Slurm has put it in place. */
void bounds_note(pid_t task);

/* Puts the calling process, which is root's, where the tasks were. */
int bounds_enter(struct refusal *why);

/* How many processors that are. */
int bounds_processors(void);
