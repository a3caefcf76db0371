/* Trees of files: opened, made harmless and attached by file descriptor, so that nobody can swap a path in between. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "refusal.h"

#define HARMLESS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define INERT (HARMLESS | MOUNT_ATTR_NOEXEC)

/* An option of a file system; `value` is NULL for a flag. A list of them ends with one without `key`. */
struct setting {
	const char *key, *value;
};

/* A path of the node, reached through no link at all. An O_PATH descriptor. */
int source_open(const char *path, struct refusal *why);

/* A path as people name it, reached by links of files only: none of /proc's, which lead to what a process holds. */
int plain_open(const char *path, int flags);

/* A copy of what lies at `fd`, attached nowhere yet, with these attributes on top of its own. */
int tree_copy(int fd, uint64_t attributes, bool recursive, const char *name, struct refusal *why);

/* A file system that is new, or begins at `source` (a setting), attached nowhere yet. */
int tree_make(const char *kind, const struct setting *settings, uint64_t attributes, struct refusal *why);

/* Adds attributes to a tree. */
int tree_restrict(int tree, uint64_t attributes, const char *name, struct refusal *why);

/* A path of another root: links lead nowhere but inside of it. -1 and errno when it is not there. */
int inside_open(int root, const char *path, int flags);

/* Makes a directory, or an empty file, with all that is missing on the way there; what is there is left alone. */
int place_directory(int root, const char *path, struct refusal *why);
int place_file(int root, const char *path, struct refusal *why);

/* Shows a tree at a place of a root that is attached already. */
int tree_attach(int tree, int root, const char *path, struct refusal *why);
int tree_attach_at(int tree, int place, const char *path, struct refusal *why);

/*
 * Makes a tree the root of this mount namespace, also when slurmd lives in a chroot, and lets go of all that was
 * mounted before. The second does the same where the first has been before; it needs no /proc.
 */
int root_enter(int tree, struct refusal *why);
int root_swap(int tree, struct refusal *why);
