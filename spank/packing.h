/* What is done as the user when a container is saved: each by a child of slurmstepd that can become nobody else again. */
#pragma once

#include <fcntl.h>

#include "saving.h"

#define PACKING_NEW (O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

typedef int packing_work(const struct saving *saving, struct refusal *why);

/* Whether the shared root, which is entered already, has the program. */
int packing_check(struct refusal *why);

/* Has it done in the room, within the bounds of the step, and waits. */
int packing_run(const struct saving *saving, packing_work *work, struct refusal *why);

/* The file, under its temporary name: by the program, which this process becomes. */
packing_work packing_pack;

/* Gives the file its name, and lays the image's variables beside it. */
packing_work packing_finish;

/* Takes away what is there under temporary names. */
packing_work packing_tidy;
