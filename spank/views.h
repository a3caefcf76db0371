/* What a new root shows beside its own files: trees, taken while the node can be seen, and attached afterwards. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "refusal.h"

struct view {
	int tree; /* -1: nothing is shown there, not even what the image has */
	bool directory;
	char *target;
};

/*
 * Lives in the process that builds the root, and ends with it: nothing is ever given back. Where places for views are
 * missing they are made by `uid` and `gid`: whoever chose the places must not have them where they may not write. What
 * root chose is put there through root's own links only (places.h).
 */
struct views {
	struct view *all;
	size_t count;
	uid_t uid;
	gid_t gid;
};

/* Takes a tree over, also when it is refused; a negative one was refused before. */
int views_add(struct views *views, int tree, bool directory, const char *target, struct refusal *why);

/* Has nothing of an image be seen at `target`. */
int views_hide(struct views *views, bool directory, const char *target, struct refusal *why);

/* A copy of what lies at `fd`, which is taken over; a negative one was refused before. */
int views_take(struct views *views, int fd, const char *target, uint64_t attributes, struct refusal *why);

/* A path of the node, reached through no link, shown at `target`. */
int views_node(struct views *views, const char *path, const char *target, uint64_t attributes, struct refusal *why);

/* A path that nodes usually have, at its own place, unless something else is to be shown there. */
int views_usual(struct views *views, const char *path, uint64_t attributes, struct refusal *why);

/* Whether something is to be shown right there; and whether there or above it. */
bool views_has(const struct views *views, const char *path);
bool views_show(const struct views *views, const char *path);

/* Has this thread look at files, and make them, as somebody; it can still mount. */
int places_as(uid_t uid, gid_t gid, struct refusal *why);

/* Makes the place where a view will be, if it is missing. */
int view_place(const struct view *view, int root, struct refusal *why);

/* Makes a directory of a root, if it is missing, as a place for a view is made. Not to have it is no harm. */
void views_directory(const struct views *views, int root, const char *path);

/* Attaches all of them, those above before those below. */
void views_sort(struct views *views);
int views_attach(struct views *views, int root, struct refusal *why);
