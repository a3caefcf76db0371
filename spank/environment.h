/* What a tenant's program knows of the world by variables: what is on the list, and nothing else. */
#pragma once

#include <stdbool.h>

#include "policy.h"

/* Whether a variable of the job goes through. */
bool environment_passes(const struct policy *policy, const char *name, size_t length);
