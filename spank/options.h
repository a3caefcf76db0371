/* Container options, spelt as Pyxis spells them; read, not yet obeyed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "refusal.h"

struct option_mount {
	char *source, *target;
	bool readonly, recursive;
};

struct options {
	char *image, *workdir, *name, *save;
	struct option_mount *mounts;
	size_t mount_count;
	char **environment; /* names */
	size_t environment_count;
	int mount_home; /* -1: not said */
	int writable;   /* -1: not said */
	bool remap_root;
};

enum option {
	OPTION_IMAGE = 1, OPTION_MOUNTS, OPTION_WORKDIR, OPTION_NAME, OPTION_SAVE, OPTION_MOUNT_HOME,
	OPTION_NO_MOUNT_HOME, OPTION_REMAP_ROOT, OPTION_NO_REMAP_ROOT, OPTION_WRITABLE, OPTION_READONLY, OPTION_ENV,
};

/* Takes in one option; `value` is NULL for those without. Said twice, the last one counts, but mounts add up. */
int options_take(struct options *options, enum option which, const char *value, struct refusal *why);

void options_free(struct options *options);
