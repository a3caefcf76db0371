/*
 * Paths that this node keeps of its own in every shared root: whoever made the worker has mounted something there for
 * jobs. Said by slurmd's own environment, which no job has a hand in: PENSTOCK_KEEP=/scratch:/data
 */
#pragma once

#include <stddef.h>

/* The paths, one after the other; NULL behind the last. What is no path is passed over: nobody could keep it. */
const char *node_local(size_t number);
