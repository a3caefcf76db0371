/* An image as a root: below it the image, as it is; above it the places where views are shown. */
#pragma once

#include <stdbool.h>

#include "views.h"

/*
 * Leaves every other root behind, and enters one made of an image. `writable`: what is written goes into memory, and
 * with the room; else nothing can be written. `cwd` is where Slurm goes next, and is there even when it is empty.
 */
int image_enter(int image, struct views *views, const char *cwd, bool writable, struct refusal *why);
