/* The variables that an image brings: NAME=VALUE with a zero byte behind each, in a file beside it. */
#pragma once

#include <stddef.h>

#include "refusal.h"

#define VARIABLES_BESIDE ".environment" /* behind the image's own name */
#define VARIABLES_LARGEST 65536
#define VARIABLES_MOST 1024

/* Lies in memory that slurmstepd, whoever furnishes the room, and the tasks share. */
struct variables {
	size_t length;
	char text[VARIABLES_LARGEST];
};

/* Takes in a file's text, all of it or nothing; `name` is the file's. */
int variables_take(struct variables *variables, const char *text, size_t length, const char *name,
		   struct refusal *why);

/* The variable behind another one, or the first (behind NULL); NULL behind the last. */
const char *variables_next(const struct variables *variables, const char *before);

/* How long the name of NAME=VALUE is. */
size_t variable_name(const char *variable);
