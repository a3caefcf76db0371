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

/*
 * Opens an image, to be read, by its whole path; `above` is the directory that it lies in. Both are the caller's to
 * close, `above` also when the image is refused; -1 where it was not reached.
 */
int trust_image(const char *path, int *above, struct refusal *why);

/* Reads a file of a directory; `file->path` is there already. 1: read, 0: there is none of that name. */
int trust_file(int directory, const char *name, struct trusted *file, struct refusal *why);

/* The same of a file beside an image. */
int trust_beside(int directory, const char *name, struct trusted *file, struct refusal *why);
