/* The files of a container: a directory, or a squashfs file on a loop device that goes with its last user. */
#pragma once

#include "refusal.h"

/*
 * An image as a tree, attached nowhere yet; `fd` is where it lies, and stays the caller's. What is root's in a squashfs
 * file is shown as the files of `owner`, the user who could open it (a user namespace, or -1), where the kernel can.
 * Never so in a directory, for who may open that may not read all that is in it.
 */
int image_tree(int fd, int owner, const char *name, struct refusal *why);
