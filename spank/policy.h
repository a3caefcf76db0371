/* What the tasks of one user get, as a file says it (README.md has the words). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "refusal.h"

#define POLICY_VERSION 1
#define POLICY_LARGEST 65536 /* bytes of a file; longer ones are refused */

enum user_class { CLASS_NONE, CLASS_TENANT, CLASS_USER, CLASS_ADMIN };

struct policy_image {
	char *digest; /* sha256:... */
	char *path;
};

struct policy_mount {
	char *source; /* on the node */
	char *target; /* inside */
	bool writable;
};

struct policy_limit {
	int what; /* RLIMIT_... */
	uint64_t most;
};

struct policy {
	enum user_class class;
	char *tenant;
	char *root, *output, *workdir;
	uint64_t tmp_bytes, shm_bytes;
	bool host_network, minimal_devices, no_containers, no_saving;
	struct policy_image *images;
	size_t image_count;
	struct policy_mount *mounts;
	size_t mount_count;
	struct policy_limit *limits;
	size_t limit_count;
	char **keeps, **devices, **environment;
	size_t keep_count, device_count, environment_count;
	gid_t *groups;
	size_t group_count;
};

/* CLASS_NONE when no class has that name. */
enum user_class class_named(const char *name);

const char *class_name(enum user_class class);

/* Reads the text of one file. On refusal the policy is empty, and `why` names the line. */
int policy_read(const char *text, size_t length, struct policy *policy, struct refusal *why);

/* The class that `ranges` gives a uid; CLASS_NONE when none of them has it. */
int ranges_read(const char *text, size_t length, uid_t uid, enum user_class *class, struct refusal *why);

void policy_free(struct policy *policy);
