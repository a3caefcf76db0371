/* System calls that a tenant's processes cannot make. */
#pragma once

#include "refusal.h"

/* setgroups() does nothing, and says that it did: for Slurm's own, once the groups are right. */
int filter_groups(struct refusal *why);

/* Owners and identities stay as they are, and whoever changes them hears that it did: for a root who is none. */
int filter_owners(struct refusal *why);

/* No program can be started. */
int filter_programs(struct refusal *why);

/* The deny list; needs no privilege but no_new_privs. */
int filter_calls(struct refusal *why);
