/* The words of a policy file, and what takes in what they say. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy.h"
#include "refusal.h"

struct reading {
	struct policy *policy;
	struct refusal *why;
	unsigned line;
	uint32_t seen; /* a bit for every word of the table */
};

/* A word of the file: how many more follow it, who may have it and who must, and what takes them in. */
struct saying {
	const char *name;
	size_t arguments;
	unsigned classes, needed;
	bool many;
	int (*take)(struct reading *reading, char **said);
};

extern const struct saying sayings[];
extern const size_t saying_count;

/* Refuses a word of the line that is being read. */
int saying_wrong(struct reading *reading, const char *what, const char *word);

int saying_no_memory(struct reading *reading);
