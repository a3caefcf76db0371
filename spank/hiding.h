/* What lies under mounts below a directory that becomes an image: an overlay would show it. */
#pragma once

#include "refusal.h"
#include "views.h"

/* Hides it, but for where views are shown. `image` is a descriptor; a file has nothing below it. */
int hide_mounted(struct views *views, int image, struct refusal *why);
