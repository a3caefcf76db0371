/* Where root puts views into a root that others write to as well: through no link but root's own. */
#pragma once

#include <stdbool.h>

#include "refusal.h"

/*
 * The place itself, an O_PATH descriptor, made when it is missing: what is attached to it lies there whatever is renamed
 * meanwhile. A link on the way counts if root made it where nobody else can put another one, as those from /bin to
 * /usr/bin; all others are refused.
 */
int place_of_root(int root, const char *path, bool directory, struct refusal *why);
