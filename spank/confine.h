/* What a tenant's processes may do: nothing that needs root, few ways to trouble the kernel, as much as is granted. */
#pragma once

#include "policy.h"
#include "refusal.h"

/* For the keeper of a room, who only waits, and for a root who is none. */
int confine_keeper(struct refusal *why);

/* As root, before Slurm becomes the user: groups, capabilities, no_new_privs. */
int confine_first(const struct policy *policy, struct refusal *why);

/* As the user, right before the task's program: proves what the first part promised, then limits and system calls. */
int confine_last(const struct policy *policy, struct refusal *why);

/* Whatever is opened beyond 0, 1 and 2 is closed when the program begins. */
int confine_descriptors(struct refusal *why);
