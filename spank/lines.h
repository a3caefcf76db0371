/* A file of the policy as lines of words: the version first, then what it says; `#` begins a comment. */
#pragma once

#include <stddef.h>

#include "refusal.h"

#define LINE_WORDS 4 /* no line has more */

struct lines {
	char *text, *rest;
	unsigned number; /* of the line that was read last */
};

/* Takes a copy of a text and reads its first line. */
int lines_open(struct lines *lines, const char *text, size_t length, struct refusal *why);

/* The words of the next line that has any, NULL behind the last of them. 1: here they are, 0: there are no more. */
int lines_next(struct lines *lines, char *words[LINE_WORDS + 1], struct refusal *why);

void lines_close(struct lines *lines);
