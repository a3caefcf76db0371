/* What slurmstepd itself sees of the shared root: the places where people have their files. */
#pragma once

#include "policy.h"
#include "refusal.h"

/*
 * slurmstepd opens a step's output, and goes to its working directory, before there is any task, in the node's root.
 * So it gets the shared root's directories that the node lacks, or has empty, and everybody's home: in a mount
 * namespace of its own, which ends with it.
 */
int people_show(const struct policy *policy, struct refusal *why);
