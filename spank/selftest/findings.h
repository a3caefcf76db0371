/* What was looked at, and how it is: a line for each, `ok NAME: words` or `failed NAME: words`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct finding {
	bool ok;
	char name[32], words[256];
};

struct findings {
	struct finding all[64];
	size_t count;
};

void found(struct findings *findings, const char *name, bool ok, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds lines that another process has written. */
void findings_read(struct findings *findings, char *lines);

void findings_write(const struct findings *findings);
void findings_write_json(const struct findings *findings);

bool findings_are_good(const struct findings *findings);
