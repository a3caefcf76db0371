#define _GNU_SOURCE
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mounts.h"
#include "words.h"

#define TERMINALS 136 /* the major number of pseudo terminals */

int output_open(const struct policy *policy, struct refusal *why)
{
	return source_open(policy->output, why);
}

/* Opens what has this name in the directory, through no link and no mount, without doing anything to it. */
static int beneath(int directory, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
}

static bool same_file(int directory, const char *name, const struct stat *is)
{
	struct stat there;
	int fd = beneath(directory, name);
	bool same = fd >= 0 && !fstat(fd, &there) && there.st_dev == is->st_dev && there.st_ino == is->st_ino;

	if (fd >= 0)
		close(fd);
	return same;
}

static int path_of(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX - 1);
	if (length < 0)
		return -1;
	path[length] = '\0';
	return 0;
}

/*
 * Both were opened on the node, so the kernel names both as they lie there; and a name is believed only when it leads
 * from the directory to that very file.
 */
static int check_file(const struct policy *policy, int directory, int fd, const struct stat *is, struct refusal *why)
{
	char path[PATH_MAX], place[PATH_MAX];

	if (path_of(fd, path) || path_of(directory, place))
		return refuse(why, W_OUTPUT, errno, "descriptor %d", fd);
	if (!word_is_within(path, place) || strlen(path) <= strlen(place) ||
	    !same_file(directory, path + strlen(place) + 1, is))
		return refuse(why, W_OUTPUT, 0, "descriptor %d leads to %.256s, which is not in %s", fd, path,
			      policy->output);
	return 0;
}

/* A pipe of Slurm's has no name in any directory; one that has could be anybody's. */
static bool is_nameless_pipe(int fd, const struct stat *is)
{
	struct statfs where;

	return S_ISFIFO(is->st_mode) && !fstatfs(fd, &where) && where.f_type == PIPEFS_MAGIC;
}

static bool is_harmless_device(const struct stat *is)
{
	return S_ISCHR(is->st_mode) && (is->st_rdev == makedev(1, 3) || major(is->st_rdev) == TERMINALS);
}

static int check(const struct policy *policy, int directory, int fd, struct refusal *why)
{
	struct stat is;

	if (fstat(fd, &is))
		return errno == EBADF ? 0 : refuse(why, W_OUTPUT, errno, "descriptor %d", fd);
	if (is_nameless_pipe(fd, &is) || is_harmless_device(&is))
		return 0;
	if (S_ISREG(is.st_mode))
		return check_file(policy, directory, fd, &is, why);
	return refuse(why, W_OUTPUT, 0, "descriptor %d is neither a file nor a pipe of Slurm's", fd);
}

int output_check(const struct policy *policy, int directory, struct refusal *why)
{
	for (int fd = 0; fd <= 2; fd++)
		if (check(policy, directory, fd, why))
			return -1;
	return 0;
}

/* Its log, and what it keeps in memory. */
static bool is_roots(const struct stat *is)
{
	return !is->st_uid && (!(is->st_mode & (S_IWGRP | S_IWOTH)) || !is->st_nlink);
}

static int check_written(const struct policy *policy, int directory, int fd, struct refusal *why)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat is;

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(fd, &is))
		return 0;
	if (S_ISREG(is.st_mode) && !is_roots(&is))
		return check_file(policy, directory, fd, &is, why);
	if (S_ISFIFO(is.st_mode) && !is_nameless_pipe(fd, &is))
		return refuse(why, W_OUTPUT, 0, "descriptor %d is neither a file nor a pipe of Slurm's", fd);
	return 0;
}

int output_check_own(const struct policy *policy, int directory, struct refusal *why)
{
	DIR *all = opendir("/proc/self/fd");
	struct dirent *one;

	if (!all)
		return refuse(why, W_OUTPUT, errno, "the files of slurmstepd");
	while ((one = readdir(all)) && why->code == W_NONE)
		if (one->d_name[0] != '.')
			check_written(policy, directory, atoi(one->d_name), why);
	closedir(all);
	return why->code == W_NONE ? 0 : -1;
}
