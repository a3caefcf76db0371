#include "nodelocal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

#define MOST 64

static const char *paths[MOST + 1];
static struct refusal wrong;

static void read_path(const char *path, size_t *count)
{
	if (!word_is_path(path) || !path[1])
		refuse(&wrong, W_SOURCE, 0, "slurmd's PENSTOCK_KEEP: wrong path \"%.128s\"", path);
	else if (*count == MOST)
		refuse(&wrong, W_SOURCE, 0, "slurmd's PENSTOCK_KEEP: more than %d paths, from here on: %.128s", MOST, path);
	else
		paths[(*count)++] = path;
}

static void read_paths(void)
{
	const char *said = getenv("PENSTOCK_KEEP");
	char *copy = said ? strdup(said) : NULL, *rest = NULL;
	size_t count = 0;

	if (said && !copy)
		refuse(&wrong, W_MEMORY, errno, "slurmd's PENSTOCK_KEEP");
	for (char *path = copy ? strtok_r(copy, ":", &rest) : NULL; path; path = strtok_r(NULL, ":", &rest))
		read_path(path, &count);
}

const char *node_local(size_t number)
{
	static bool known;

	if (!known)
		read_paths();
	known = true;
	return number < MOST ? paths[number] : NULL;
}

int node_local_check(struct refusal *why)
{
	node_local(0);
	if (wrong.code != W_NONE && why->code == W_NONE)
		*why = wrong;
	return wrong.code == W_NONE ? 0 : -1;
}
