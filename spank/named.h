/* Containers with a name: each step that asks for it has a room of its own, and the same files in it. */
#pragma once

#include "process.h"
#include "shared.h"

/* Makes the room of a step with --container-name out of files that are kept, or out of new ones, as the option says. */
int named_room(struct room *room, struct step *step, struct refusal *why);
