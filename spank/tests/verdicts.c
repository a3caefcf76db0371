/*
 * What the parsers say of files 0, 1, 2... of a directory: a line for each, "yes" or why not. Python's parser is held to
 * it (tests/spank/test_same_rules.py); without a directory there is nothing to say.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../policy.h"

static size_t read_whole(const char *path, char *text)
{
	FILE *file = fopen(path, "r");
	size_t length;

	if (!file)
		exit(0);
	length = fread(text, 1, POLICY_LARGEST + 1, file);
	fclose(file);
	return length;
}

static void tell(const char *text, size_t length, int ranges)
{
	struct policy policy = {0};
	struct refusal why = {0};
	enum user_class class = CLASS_NONE;
	char line[768] = "yes";

	if (ranges ? ranges_read(text, length, 1000, &class, &why) : policy_read(text, length, &policy, &why))
		refusal_words(&why, line, sizeof(line));
	puts(line);
	policy_free(&policy);
}

int main(int argc, char **argv)
{
	static char text[POLICY_LARGEST + 1];
	char path[256];

	for (unsigned i = 0; argc == 3; i++) {
		snprintf(path, sizeof(path), "%s/%u", argv[2], i);
		tell(text, read_whole(path, text), argv[1][0] == 'r');
	}
	return 0;
}
