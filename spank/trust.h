/* Files that nobody but root can have written: found without following a link, and looked at all the way down. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "refusal.h"

/* A file, by the name that people know it by, and what it says; `text` is the caller's to free. */
struct trusted {
	char path[512];
	char *text;
	size_t length;
};

/* Opens a directory by its whole path. */
int trust_way(const char *path, struct refusal *why);

/* Opens a directory of another one. -1 with `*absent` when there is none of that name. */
int trust_directory(int above, const char *name, const char *path, bool *absent, struct refusal *why);

/* Reads a file of a directory; `file->path` is there already. 1: read, 0: there is none of that name. */
int trust_file(int directory, const char *name, struct trusted *file, struct refusal *why);
