/* Class `user`: the shared root in place of the node's, and containers as Pyxis has them within it. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "options.h"
#include "policy.h"
#include "refusal.h"
#include "variables.h"

/* What is known of a step when its room is furnished. */
struct step {
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* supplementary ones */
	size_t group_count;
	uint32_t job, nodes;
	int mapped; /* the user namespace in which the user is root, or -1 */
	const struct policy *policy;
	const struct options *options;
	const char *script; /* of a batch step, or NULL */
	const char *cwd;
	const char *home; /* as the job's environment says it, or NULL */
	char host[64];    /* of a tenant's room */
	struct variables *variables; /* of the image */
	int files; /* of a named container: a copy of the tree, or -1 */
};

/* Leaves the node for the shared root. */
int shared_enter(const struct step *step, struct refusal *why);

/* Furnishes a room; `what` is a struct step. */
int shared_furnish(void *what, struct refusal *why);
