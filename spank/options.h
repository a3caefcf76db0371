/* Container options, spelt as Pyxis spells them; read, not yet obeyed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "refusal.h"

#define OPTION_MOUNTS_MOST 256
#define OPTION_NAMES_MOST 1024

#define OPTION_MEMORY "tmpfs"

/*
 * `source` begins with `/`, or with `.` for a path below the step's own directory, or is OPTION_MEMORY; `target` begins
 * with `/`. Paths are tidy (words.h). Flags that every mount has anyway (nosuid, nodev, private, rprivate) may be said and
 * change nothing.
 */
struct option_mount {
	char *source, *target;
	bool readonly, recursive;
};

/* What becomes of a named container that is there already, as in NAME:exec. */
enum option_reuse { REUSE_AUTO, REUSE_CREATE, REUSE_EXEC, REUSE_NO_EXEC };

struct options {
	char *image, *workdir, *name, *save;
	enum option_reuse reuse;
	struct option_mount *mounts;
	size_t mount_count;
	char **environment; /* names */
	size_t environment_count;
	int mount_home; /* -1: not said */
	int writable;   /* -1: not said */
	int remap_said; /* -1: not said */
	bool remap_root;
};

#define OPTIONS_UNSAID ((struct options){.mount_home = -1, .writable = -1, .remap_said = -1})

enum option {
	OPTION_IMAGE = 1, OPTION_MOUNTS, OPTION_WORKDIR, OPTION_NAME, OPTION_SAVE, OPTION_MOUNT_HOME,
	OPTION_NO_MOUNT_HOME, OPTION_REMAP_ROOT, OPTION_NO_REMAP_ROOT, OPTION_WRITABLE, OPTION_READONLY, OPTION_ENV,
};

/*
 * Takes in one option; `value` is NULL for those without. Said twice, the last one counts, but mounts add up, and a
 * switch together with its opposite is refused. What was taken in before stays as it is when one is refused.
 */
int options_take(struct options *options, enum option which, const char *value, struct refusal *why);

void options_free(struct options *options);
