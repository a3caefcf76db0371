/*
 * --container-save: when the step's last task has ended, one more program of the user's packs the files of the container,
 * mksquashfs of the shared root. It is where a task of the user's would be, may what the user may, and is bounded and
 * ended as the step's tasks are.
 *
 * What can be known beforehand is found out when the step begins. The file comes to its place when it is whole; until
 * then it has another name in the same directory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process.h"
#include "shared.h"

struct saving {
	const char *path;    /* as the user has said it; NULL: nothing is to be saved */
	const char *name;    /* its last part */
	char temporary[64];
	char job[32];        /* a variable, by which programs of a job are known */
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t group_count;
	struct room room;    /* the shared root */
	int directory, tree; /* where the file will be; the container's files, without what is mounted among them */
	char *variables;     /* of the image: a copy, for tasks can write to the other one */
	size_t length;
};

#define SAVING_NOTHING ((struct saving){.room = {.inside = -1, .outside = -1}, .directory = -1, .tree = -1})

/* In slurmstepd, when the container's room is there. Whatever is in the way of saving it refuses the step. */
int saving_begin(struct saving *saving, const struct step *step, const struct room *container, struct refusal *why);

/* Saves: what is at the path is the new file, or what was there before. */
int saving_do(const struct saving *saving, struct refusal *why);

void saving_end(struct saving *saving);
