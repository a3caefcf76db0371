/* The files of a container: a directory, or a squashfs file on a loop device that goes with its last user. */
#pragma once

#include "refusal.h"

/* An image as a tree, attached nowhere yet; `fd` (O_PATH) is where it lies, and stays the caller's. */
int image_tree(int fd, const char *name, struct refusal *why);
