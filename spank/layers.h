/* An image as a root: below it the image, as it is; above it the places where views are shown. */
#pragma once

#include <stdbool.h>

#include "views.h"

/*
 * Leaves every other root behind, and enters one made of an image. `writable`: what is written goes into memory, and
 * with the room; else nothing can be written. `cwd` is where Slurm goes next, and is there even when it is empty.
 */
int image_enter(int image, struct views *views, const char *cwd, bool writable, struct refusal *why);

/* Such a root as a tree that is attached nowhere yet: writable, with places for views. Leaves other roots, too. */
int image_files(int image, struct views *views, const char *cwd, struct refusal *why);

/* Enters a copy of such a tree, which is taken over. Places for views that are missing are made in it. */
int files_enter(int files, struct views *views, const char *cwd, bool writable, struct refusal *why);
