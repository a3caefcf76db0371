#define _GNU_SOURCE
#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mounts.h"

#define LOOP_MAJOR 7
#define TRIES 64 /* of taking a free device that somebody else takes first */

/* In a pod /dev has only the loop devices of its beginning: this makes a node of its own, and leaves none behind. */
static int open_device(int scratch, unsigned number)
{
	int fd;

	if (mknodat(scratch, "loop", S_IFBLK | 0600, makedev(LOOP_MAJOR, number)))
		return -1;
	fd = openat(scratch, "loop", O_RDONLY | O_CLOEXEC);
	unlinkat(scratch, "loop", 0);
	return fd;
}

static int configure(int device, int file)
{
	struct loop_config config = {
		.fd = (__u32)file, .info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR,
	};

	return ioctl(device, LOOP_CONFIGURE, &config);
}

/* A device with the file in it; it is freed when the last mount and the last descriptor of it are gone. */
static int take_device(int scratch, int file, unsigned *number)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), device = -1;

	for (int tries = 0; control >= 0 && device < 0 && tries < TRIES; tries++) {
		int free = ioctl(control, LOOP_CTL_GET_FREE);

		if (free < 0)
			break;
		*number = (unsigned)free;
		device = open_device(scratch, *number);
		if (device >= 0 && configure(device, file)) {
			int error = errno;

			close(device);
			device = -1;
			errno = error;
			if (error != EBUSY)
				break;
		}
	}
	if (control >= 0)
		close(control);
	return device;
}

/* squashfs opens its device by a path; the node for it lies in a directory that only we see, at hand by `chdir`. */
static int squash(int scratch, int file, const char *name, struct refusal *why)
{
	static const struct setting settings[] = {{"source", "loop"}, {"ro", NULL}, {0}};
	unsigned number = 0;
	int device = take_device(scratch, file, &number), tree = -1;

	if (device < 0)
		return refuse(why, W_IMAGE, errno, "a loop device for %s", name);
	if (fchdir(scratch) || mknodat(scratch, "loop", S_IFBLK | 0600, makedev(LOOP_MAJOR, number)))
		refuse(why, W_IMAGE, errno, "a loop device for %s", name);
	else
		tree = tree_make("squashfs", settings, HARMLESS | MOUNT_ATTR_RDONLY, why);
	close(device);
	return tree;
}

static int squashed(int fd, const char *name, struct refusal *why)
{
	static const struct setting small[] = {{"mode", "0700"}, {"size", "64k"}, {0}};
	char path[64];
	int scratch = tree_make("tmpfs", small, 0, why), file, tree = -1;

	if (scratch < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		refuse(why, W_IMAGE, errno, "%s", name);
	else
		tree = squash(scratch, file, name, why);
	if (file >= 0)
		close(file);
	close(scratch);
	return tree;
}

static int owned(int tree, int owner)
{
	struct mount_attr mapped = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (__u64)owner};

	if (tree >= 0 && owner >= 0)
		(void)mount_setattr(tree, "", AT_EMPTY_PATH, &mapped, sizeof(mapped)); /* before Linux 6.2 it cannot */
	return tree;
}

int image_tree(int fd, int owner, const char *name, struct refusal *why)
{
	struct stat is;

	if (fstat(fd, &is))
		return refuse(why, W_IMAGE, errno, "%s", name);
	if (S_ISDIR(is.st_mode))
		return tree_copy(fd, HARMLESS | MOUNT_ATTR_RDONLY, false, name, why);
	if (S_ISREG(is.st_mode))
		return owned(squashed(fd, name, why), owner);
	return refuse(why, W_IMAGE, 0, "%s is neither a directory nor a file", name);
}
