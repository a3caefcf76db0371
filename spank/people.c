#define _GNU_SOURCE
#include "people.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nodelocal.h"
#include "mounts.h"
#include "words.h"

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* A directory of the node that is not there, or that nothing is in. */
static bool is_bare(const char *path)
{
	DIR *listing = opendir(path);
	struct dirent *one;
	bool bare = true;

	if (!listing)
		return errno == ENOENT;
	while (bare && (one = readdir(listing)))
		bare = is_dot(one->d_name);
	closedir(listing);
	return bare;
}

/* Whether a policy shows something of the node there, which then must stay what it is. */
static bool is_the_nodes(const struct policy *policy, const char *path)
{
	for (size_t i = 0; i < policy->keep_count; i++)
		if (word_is_within(policy->keeps[i], path))
			return true;
	for (size_t i = 0; i < policy->mount_count; i++)
		if (word_is_within(policy->mounts[i].source, path))
			return true;
	for (size_t i = 0; node_local(i); i++)
		if (word_is_within(node_local(i), path))
			return true;
	return word_is_within(policy->root, path) || !strcmp(path, "/tmp");
}

/* `path` is a name of the root with a slash before it. */
static bool is_peoples(const struct policy *policy, int root, const char *path)
{
	struct stat is;

	if (path[1] == '.' || fstatat(root, path + 1, &is, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(is.st_mode) ||
	    is_the_nodes(policy, path))
		return false;
	return !strcmp(path, "/home") || !strcmp(path, "/root") || is_bare(path);
}

static int show(int root, int node, const char *path, struct refusal *why)
{
	int source = openat(root, path + 1, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC), tree;

	if (source < 0)
		return refuse(why, W_SOURCE, errno, "%s of the shared root", path);
	tree = tree_copy(source, HARMLESS, true, path, why);
	close(source);
	if (tree < 0)
		return -1;
	if (!place_directory(node, path, why))
		tree_attach(tree, node, path, why);
	close(tree);
	return why->code == W_NONE ? 0 : -1;
}

static int show_all(const struct policy *policy, DIR *listing, int node, struct refusal *why)
{
	char path[sizeof(((struct dirent *)0)->d_name) + 1];
	struct dirent *one;

	while ((one = readdir(listing))) {
		snprintf(path, sizeof(path), "/%s", one->d_name);
		if (is_peoples(policy, dirfd(listing), path) && show(dirfd(listing), node, path, why))
			return -1;
	}
	return 0;
}

static int show_listed(const struct policy *policy, DIR *listing, struct refusal *why)
{
	int node = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), failed;

	if (node < 0)
		return refuse(why, W_SOURCE, errno, "the node's root");
	failed = show_all(policy, listing, node, why);
	close(node);
	return failed;
}

int people_show(const struct policy *policy, struct refusal *why)
{
	struct mount_attr apart = {.propagation = MS_SLAVE};
	int source, root, failed;
	DIR *listing;

	/* First: trees can be copied only of mounts that one has. */
	if (unshare(CLONE_NEWNS) || mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &apart, sizeof(apart)))
		return refuse(why, W_MOUNT, errno, "mounts of slurmstepd's own");
	source = source_open(policy->root, why);
	if (source < 0)
		return -1;
	root = openat(source, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(source);
	listing = root < 0 ? NULL : fdopendir(root);
	if (!listing)
		return refuse(why, W_SOURCE, errno, "the shared root %s", policy->root);
	failed = show_listed(policy, listing, why);
	closedir(listing);
	return failed;
}
