/* Class `tenant`: a room with an image as its root, the policy's mounts, and nothing else of the node. */
#pragma once

#include "shared.h"

/* The namespaces of such a room: CLONE_NEW... */
int walls_kinds(const struct policy *policy);

/* Refuses options that are not a tenant's to say. */
int walls_check(const struct step *step, struct refusal *why);

/* Holds the step's image as long as this process lives, so that nobody removes it, and reads its variables. */
int walls_hold(const struct step *step, struct refusal *why);

/* Furnishes a room; `what` is a struct step. Runs as the room's pid 1, and leaves it without any power. */
int walls_furnish(void *what, struct refusal *why);
