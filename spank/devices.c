#define _GNU_SOURCE
#include "devices.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mounts.h"

#define PAGE 4096  /* bytes */
#define FEWEST 256 /* files that also a tiny directory can hold */

static const struct {
	const char *name;
	unsigned major, minor;
} nodes[] = {
	{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0},
};

static const struct {
	const char *name, *target;
} links[] = {
	{"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
	{"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"},
};

static int fill(int dev, struct refusal *why)
{
	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
		if (mknodat(dev, nodes[i].name, S_IFCHR | 0666, makedev(nodes[i].major, nodes[i].minor)) ||
		    fchmodat(dev, nodes[i].name, 0666, 0))
			return refuse(why, W_DEVICE, errno, "making /dev/%s", nodes[i].name);
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (symlinkat(links[i].target, dev, links[i].name))
			return refuse(why, W_DEVICE, errno, "making /dev/%s", links[i].name);
	return 0;
}

int devices_minimal(struct views *views, struct refusal *why)
{
	static const struct setting few[] = {{"mode", "0755"}, {"size", "64k"}, {"nr_inodes", "1024"}, {0}};
	/* All namespaces share the kernel's few thousand terminals. */
	static const struct setting terminals[] = {
		{"ptmxmode", "0666"}, {"mode", "0620"}, {"gid", "5"}, {"max", "256"}, {0},
	};
	int dev = tree_make("tmpfs", few, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, why), pts;

	if (dev < 0)
		return -1;
	if (fill(dev, why)) {
		close(dev);
		return -1;
	}
	if (views_add(views, dev, true, "/dev", why))
		return -1;
	pts = tree_make("devpts", terminals, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, why);
	return views_add(views, pts, true, "/dev/pts", why);
}

static int grant(struct views *views, const char *path, struct refusal *why)
{
	struct stat is;
	int fd = source_open(path, why);

	if (fd < 0)
		return -1;
	if (fstat(fd, &is) || (!S_ISCHR(is.st_mode) && !S_ISBLK(is.st_mode))) {
		close(fd);
		return refuse(why, W_DEVICE, 0, "%s is not a device", path);
	}
	return views_take(views, fd, path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, why);
}

int devices_granted(struct views *views, const struct policy *policy, struct refusal *why)
{
	for (size_t i = 0; i < policy->device_count; i++)
		if (grant(views, policy->devices[i], why))
			return -1;
	return 0;
}

/* Empty files have no size, but cost the kernel memory all the same, so there are as many as there are pages. */
int memory_directory(struct views *views, const char *target, uint64_t bytes, uint64_t attributes, struct refusal *why)
{
	char size[32], files[32];
	const struct setting settings[] = {{"mode", "1777"}, {"size", size}, {"nr_inodes", files}, {0}};

	snprintf(size, sizeof(size), "%" PRIu64, bytes);
	snprintf(files, sizeof(files), "%" PRIu64, bytes / PAGE + FEWEST);
	return views_add(views, tree_make("tmpfs", settings, attributes, why), true, target, why);
}
