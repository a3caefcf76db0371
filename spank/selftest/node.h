/* What walls need of a node. */
#pragma once

#include "findings.h"

#define POLICIES_FINDING "policies" /* what concerns everybody, not tenants only */
#define UIDS_FINDING "uids"         /* what concerns one uid, and no other */

/* Returns whether tenants may come here. */
bool node_look(struct findings *findings, const char *policies);
