/* A container of class `user`: an image and directories that the user could open anyway, where nothing raises them. */
#pragma once

#include "process.h"
#include "shared.h"

/* Refuses what cannot be had of the container options. */
int container_check(const struct step *step, struct refusal *why);

/* Makes the room of a step in a container; `mapped` is the user namespace in which its user is root, or -1. */
int container_room(struct room *room, struct step *step, int *mapped, struct refusal *why);

/* Opens a path of the root that is entered, relative to the step's working directory, as the step's user. */
int open_as(const struct step *step, const char *path, int flags);

/* The files of a container that is to have a name: an image and what is written to it. Leaves every other root. */
int container_files(const struct step *step, struct refusal *why);

/* Leaves the shared root for a copy of such files, which is taken over. */
int container_enter_again(const struct step *step, int files, struct refusal *why);

/* Leaves the shared root, in which paths of the options are looked up, for an image. */
int container_enter(const struct step *step, struct refusal *why);
