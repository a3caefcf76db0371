#define _GNU_SOURCE
#include "slurm_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mounts.h"

/* With the place for this part in it: in a container places are made as the user, who may not make any here. */
static int empty_spool(const char *part, struct refusal *why)
{
	static const struct setting settings[] = {{"mode", "0755"}, {"size", "64k"}, {0}};
	int tree = tree_make("tmpfs", settings, INERT, why);

	if (tree >= 0 && mkdirat(tree, part, 0755)) {
		refuse(why, W_MOUNT, errno, "Slurm's directory %.64s", part);
		close(tree);
		return -1;
	}
	return tree;
}

/* The spool directory itself holds other people's jobs, so an empty one stands in for it, with this part in it. */
static int view_spooled(struct views *views, const char *path, struct refusal *why)
{
	char spool[PATH_MAX];
	char *end;

	if ((size_t)snprintf(spool, sizeof(spool), "%s", path) >= sizeof(spool) || !(end = strrchr(spool, '/')))
		return refuse(why, W_SOURCE, ENAMETOOLONG, "Slurm's path %.64s", path);
	*end = '\0';
	if (views_has(views, path))
		return 0;
	if (!*spool)
		return refuse(why, W_SOURCE, 0, "Slurm's path %s lies in no directory", path);
	if (!views_show(views, spool) && views_add(views, empty_spool(end + 1, why), true, spool, why))
		return -1;
	return views_node(views, path, path, HARMLESS | MOUNT_ATTR_RDONLY, why);
}

int view_script(struct views *views, const char *script, struct refusal *why)
{
	char directory[PATH_MAX];
	char *end;

	if (!script)
		return 0;
	if ((size_t)snprintf(directory, sizeof(directory), "%s", script) >= sizeof(directory) || script[0] != '/' ||
	    !(end = strrchr(directory, '/')) || end == directory)
		return refuse(why, W_SOURCE, 0, "the batch script %.64s", script);
	*end = '\0';
	return view_spooled(views, directory, why);
}

/* A node without configuration files has what slurmctld sent it, behind a link into its spool directory. */
static int view_cache(struct views *views, struct refusal *why)
{
	char cache[PATH_MAX];
	ssize_t length = readlink("/run/slurm/conf", cache, sizeof(cache) - 1);

	if (length < 0)
		return errno == ENOENT || errno == EINVAL ? 0 : refuse(why, W_SOURCE, errno, "/run/slurm/conf");
	cache[length] = '\0';
	if (cache[0] != '/' || access(cache, F_OK))
		return 0;
	return view_spooled(views, cache, why);
}

int view_client(struct views *views, struct refusal *why)
{
	if (views_usual(views, "/run/slurm", HARMLESS | MOUNT_ATTR_RDONLY, why) ||
	    views_usual(views, "/etc/slurm", INERT | MOUNT_ATTR_RDONLY, why))
		return -1;
	return view_cache(views, why);
}
