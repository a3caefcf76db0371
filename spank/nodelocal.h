/*
 * Paths that this node keeps of its own in every shared root: whoever made the worker has mounted something there for
 * jobs. Said by slurmd's own environment, which no job has a hand in: PENSTOCK_KEEP=/scratch:/data
 */
#pragma once

#include <stddef.h>

#include "refusal.h"

/* The paths, one after the other; NULL behind the last. */
const char *node_local(size_t number);

/* Refuses what is no path, and too many of them: a job that was promised scratch must not write to something else. */
int node_local_check(struct refusal *why);
