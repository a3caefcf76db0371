/*
 * The room of a step: namespaces that are furnished once, by a child of slurmstepd, and entered by each of its tasks.
 *
 * A room with processes of its own has a keeper, pid 1 in there. While slurmstepd forks its tasks, its main thread
 * bears children into the room, so that they are its own children and yet have pids of the room: exit codes, signals
 * and process groups are Slurm's business as ever. When the keeper ends, the kernel ends all that is left inside.
 */
#pragma once

#include <sys/types.h>

#include "refusal.h"

struct room {
	int kinds;    /* CLONE_NEW...; 0: there is no room */
	int inside;   /* the keeper as a pidfd, or the mount namespace */
	int outside;  /* the pid namespace that children are born into otherwise */
	pid_t keeper;
};

/* Runs as root in the new namespaces; what it is given is a copy of the caller's. */
typedef int furnishing(void *what, struct refusal *why);

int room_make(struct room *room, int kinds, furnishing *furnish, void *what, struct refusal *why);

/* From now on children of this thread are born in the room; and no longer. */
int room_bear(const struct room *room, struct refusal *why);
void room_rest(const struct room *room);

/* Enters with the calling process, a task. */
int room_enter(const struct room *room, struct refusal *why);

/* Ends what still runs inside, and waits until it is gone. */
void room_end(struct room *room);

/* Becomes root, or somebody else, in this thread only: slurmstepd's others are as they are. -1 and errno on failure. */
int thread_becomes(uid_t uid, gid_t gid);
