/* A container of class `user`: an image and directories that the user could open anyway, where nothing raises them. */
#pragma once

#include "shared.h"

/* Refuses what cannot be had of the container options. */
int container_check(const struct step *step, struct refusal *why);

/* Leaves the shared root, in which paths of the options are looked up, for an image. */
int container_enter(const struct step *step, struct refusal *why);
