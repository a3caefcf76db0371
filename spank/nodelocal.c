#include "nodelocal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

#define MOST 64

static const char *paths[MOST + 1];

static void read_paths(void)
{
	const char *said = getenv("PENSTOCK_KEEP");
	char *copy = said ? strdup(said) : NULL, *rest = NULL;
	size_t count = 0;

	for (char *path = copy ? strtok_r(copy, ":", &rest) : NULL; path && count < MOST;
	     path = strtok_r(NULL, ":", &rest))
		if (word_is_path(path) && path[1])
			paths[count++] = path;
}

const char *node_local(size_t number)
{
	static bool known;

	if (!known)
		read_paths();
	known = true;
	return number < MOST ? paths[number] : NULL;
}
