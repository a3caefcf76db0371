/* Which policy a uid has: found, opened and trusted, or refused. */
#pragma once

#include <sys/types.h>

#include "policy.h"

#define POLICIES "/etc/penstock/walls"

/*
 * Opens only the files that it needs, without following a link, and believes none that others than root could have
 * written, as it lies or on its way. A uid of a tenant's range without a file of its own is refused.
 */
int policy_of(const char *directory, uid_t uid, struct policy *policy, struct refusal *why);
