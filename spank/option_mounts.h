/* --container-mounts, as Pyxis has it: SRC[:DST[:FLAGS]][,SRC...], with nothing that a shell would expand. */
#pragma once

#include "options.h"

/* Adds the mounts of one list, all of them or none. */
int option_mounts_take(struct options *options, const char *value, struct refusal *why);

void option_mounts_free(struct options *options);
