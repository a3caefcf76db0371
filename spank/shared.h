/* Class `user`: the shared root in place of the node's, and containers as Pyxis has them within it. */
#pragma once

#include <sys/types.h>

#include "options.h"
#include "policy.h"
#include "refusal.h"

/* What is known of a step when its room is furnished. */
struct step {
	uid_t uid;
	gid_t gid;
	const struct policy *policy;
	const struct options *options;
	const char *script; /* of a batch step, or NULL */
	const char *cwd;
	const char *home; /* as the job's environment says it, or NULL */
	char host[64];    /* of a tenant's room */
};

/* Furnishes a room; `what` is a struct step. */
int shared_furnish(void *what, struct refusal *why);
