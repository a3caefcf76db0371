/* Files that nobody but root can have written: found without following a link, and looked at all the way down. */
#pragma once

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

/* Reads a file of a directory; `file->path` is there already. 1: read, 0: there is none of that name. */
int trust_file(int directory, const char *name, struct trusted *file, struct refusal *why);
