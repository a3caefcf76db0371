/* Where a tenant's stdin, stdout and stderr may lead: to Slurm itself, to nothing, or into the tenant's directory. */
#pragma once

#include "policy.h"
#include "refusal.h"

/* The directory, while the node can be seen. */
int output_open(const struct policy *policy, struct refusal *why);

/* Descriptors 0 to 2, right before the task's program; `directory` is from output_open(). */
int output_check(const struct policy *policy, int directory, struct refusal *why);

/*
 * The same for what slurmstepd itself writes for the tenant, as it does with labels in front of lines: whatever it has
 * open for writing by now, but for root's own.
 */
int output_check_own(const struct policy *policy, int directory, struct refusal *why);
