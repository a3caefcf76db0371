/* What the readers of container options share. */
#pragma once

#include "refusal.h"

/* Refuses what was said of an option; `option` is its name without `--container-`. */
int option_wrong(struct refusal *why, const char *option, const char *what, const char *value);

int option_no_memory(struct refusal *why);

/* A tidy path in place of an earlier one. */
int option_path(char **place, const char *option, const char *value, struct refusal *why);
