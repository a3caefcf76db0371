#define _GNU_SOURCE
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 32 /* of a look that somebody's rename disturbed */

static int open_how(int at, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {.flags = (__u64)(flags | O_CLOEXEC), .resolve = resolve};
	long fd = -1;

	for (int tries = 0; tries < TRIES; tries++) {
		fd = syscall(SYS_openat2, at, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return (int)fd;
}

int source_open(const char *path, struct refusal *why)
{
	int fd = open_how(AT_FDCWD, path, O_PATH, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	if (fd < 0)
		return refuse(why, W_SOURCE, errno, "%s of the node", path);
	return fd;
}

int plain_open(const char *path, int flags)
{
	return open_how(AT_FDCWD, path, flags, RESOLVE_NO_MAGICLINKS);
}

static int restrict_tree(int tree, uint64_t attributes, unsigned flags)
{
	struct mount_attr wanted = {.attr_set = attributes, .propagation = MS_PRIVATE};

	return mount_setattr(tree, "", AT_EMPTY_PATH | flags, &wanted, sizeof(wanted));
}

int tree_copy(int fd, uint64_t attributes, bool recursive, const char *name, struct refusal *why)
{
	unsigned deep = recursive ? AT_RECURSIVE : 0;
	int tree = open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | deep);

	if (tree < 0)
		return refuse(why, W_MOUNT, errno, "a copy of the tree at %s", name);
	if (restrict_tree(tree, attributes, deep)) {
		refuse(why, W_MOUNT, errno, "attributes of the tree at %s", name);
		close(tree);
		return -1;
	}
	return tree;
}

int tree_restrict(int tree, uint64_t attributes, const char *name, struct refusal *why)
{
	if (restrict_tree(tree, attributes, 0))
		return refuse(why, W_MOUNT, errno, "attributes of the tree at %s", name);
	return 0;
}

static int set_all(int context, const struct setting *settings)
{
	for (; settings && settings->key; settings++) {
		unsigned how = settings->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

		if (fsconfig(context, how, settings->key, settings->value, 0))
			return -1;
	}
	return fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

int tree_make(const char *kind, const struct setting *settings, uint64_t attributes, struct refusal *why)
{
	int context = fsopen(kind, FSOPEN_CLOEXEC), tree = -1;

	if (context < 0)
		return refuse(why, W_MOUNT, errno, "a file system of kind %s", kind);
	if (!set_all(context, settings))
		tree = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attributes);
	if (tree < 0)
		refuse(why, W_MOUNT, errno, "a new file system of kind %s", kind);
	close(context);
	return tree;
}

int inside_open(int root, const char *path, int flags)
{
	return open_how(root, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* The directory at `path`, made when it is missing in `above`. */
static int step_into(int root, int above, const char *path, const char *name)
{
	int fd = inside_open(root, path, O_PATH | O_DIRECTORY);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (mkdirat(above, name, 0755) && errno != EEXIST)
		return -1;
	return inside_open(root, path, O_PATH | O_DIRECTORY);
}

static int walk(int root, char *path, struct refusal *why)
{
	int here = inside_open(root, "/", O_PATH | O_DIRECTORY);

	for (char *name = path; here >= 0 && name[0] == '/' && name[1];) {
		char *end = strchr(name + 1, '/');
		int above = here;

		if (end)
			*end = '\0';
		here = step_into(root, above, path, name + 1);
		close(above);
		if (!end)
			break;
		*end = '/';
		name = end;
	}
	if (here < 0)
		return refuse(why, W_MOUNT, errno, "a place at %s of the new root", path);
	return here;
}

int place_directory(int root, const char *path, struct refusal *why)
{
	char copy[PATH_MAX];
	int fd;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return refuse(why, W_MOUNT, ENAMETOOLONG, "a place at %.64s of the new root", path);
	fd = walk(root, copy, why);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int make_file(int above, const char *name)
{
	int file = openat(above, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (file < 0)
		return errno == EEXIST ? 0 : -1;
	return close(file);
}

int place_file(int root, const char *path, struct refusal *why)
{
	char copy[PATH_MAX];
	char *name;
	int there = inside_open(root, path, O_PATH), above;

	if (there >= 0)
		return close(there);
	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy) || !(name = strrchr(copy, '/')))
		return refuse(why, W_MOUNT, ENAMETOOLONG, "a place at %.64s of the new root", path);
	*name++ = '\0';
	above = walk(root, copy, why);
	if (above < 0)
		return -1;
	if (make_file(above, name))
		refuse(why, W_MOUNT, errno, "a place at %s of the new root", path);
	close(above);
	return why->code == W_NONE ? 0 : -1;
}

static int move(int tree, int place)
{
	return move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int tree_attach_at(int tree, int place, const char *path, struct refusal *why)
{
	if (place < 0 || move(tree, place))
		return refuse(why, W_MOUNT, errno, "showing a tree at %s of the new root", path);
	return 0;
}

int tree_attach(int tree, int root, const char *path, struct refusal *why)
{
	int place = inside_open(root, path, O_PATH), attached = tree_attach_at(tree, place, path, why);

	if (place >= 0)
		close(place);
	return attached;
}

/* Entering one's own mount namespace leads to its real root, out of any chroot that slurmd may live in. */
static int find_top(void)
{
	int self = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	int failed = self < 0 || setns(self, CLONE_NEWNS);
	struct mount_attr apart = {.propagation = MS_PRIVATE};

	if (self >= 0)
		close(self);
	return failed ? -1 : mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &apart, sizeof(apart));
}

static int cover(int tree)
{
	int top = open("/", O_PATH | O_CLOEXEC);
	int failed = top < 0 || move(tree, top) || fchdir(tree);

	if (top >= 0)
		close(top);
	return failed;
}

int root_swap(int tree, struct refusal *why)
{
	if (cover(tree))
		return refuse(why, W_ROOT, errno, "covering the old root");
	/* Both names are one: the old root comes to lie upon the new one, and is taken off. */
	if (syscall(SYS_pivot_root, ".", "."))
		return refuse(why, W_ROOT, errno, "entering the new root");
	if (umount2(".", MNT_DETACH) || chdir("/"))
		return refuse(why, W_ROOT, errno, "letting go of the old root");
	return 0;
}

int root_enter(int tree, struct refusal *why)
{
	if (find_top())
		return refuse(why, W_ROOT, errno, "the root of the mount namespace");
	return root_swap(tree, why);
}
