#define _GNU_SOURCE /* O_PATH */

#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy.h"
#include "words.h"

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)
#define DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FILE_TO_READ (O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) /* a pipe must not hold us */
#define VOLUME_LINK "..data"

/* The kernel itself refuses to follow a link, wherever in the name it stands. */
static int open_plain(int directory, const char *name, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)flags,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
}

/* Root's, and nobody else's to write. */
static int check_owner(int file, struct stat *is, const char *path, struct refusal *why)
{
	if (fstat(file, is) < 0)
		return refuse(why, W_POLICY, errno, "policy %s", path);
	if (is->st_uid != 0)
		return refuse(why, W_OWNER, 0, "policy %s: belongs to uid %u, not to root", path, is->st_uid);
	if (is->st_mode & OTHERS_WRITE)
		return refuse(why, W_OWNER, 0, "policy %s: others than root may write there (mode %04o)", path,
			      is->st_mode & 07777);
	return 0;
}

/* The descriptor, if it is one to be trusted; else it is closed. */
static int keep_trusted(int directory, const char *path, struct refusal *why)
{
	struct stat is;

	if (check_owner(directory, &is, path, why) == 0)
		return directory;
	close(directory);
	return -1;
}

/*
 * A ConfigMap as kubelet shows it: anybody's to write by its mode, but mounted so that nobody can, with root's link to
 * the directory of the day, which has the files.
 */
static bool is_volume(int directory)
{
	struct statvfs mounted;
	struct stat link;

	return fstatvfs(directory, &mounted) == 0 && mounted.f_flag & ST_RDONLY &&
	       fstatat(directory, VOLUME_LINK, &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode) &&
	       link.st_uid == 0;
}

/* Goes where the link of a volume leads: beside it, under a name that begins with two dots. Closes what it came from. */
static int enter_volume(int volume, const char *path, struct refusal *why)
{
	char name[NAME_MAX + 1] = "";
	ssize_t length = readlinkat(volume, VOLUME_LINK, name, sizeof(name) - 1);
	int directory = -1;

	if (length < 3 || strncmp(name, "..", 2) != 0 || strchr(name, '/'))
		errno = ELOOP;
	else
		directory = open_plain(volume, name, DIRECTORY);
	if (directory < 0)
		refuse(why, W_POLICY, errno, "policy %s/" VOLUME_LINK, path);
	close(volume);
	return directory < 0 ? -1 : keep_trusted(directory, path, why);
}

/* Goes down one directory; the one above is closed. Only the last one may be a volume. */
static int descend(int above, const char *name, const char *path, bool last, struct refusal *why)
{
	int directory = open_plain(above, name, DIRECTORY);

	if (directory < 0)
		refuse(why, W_POLICY, errno, "policy %s", path);
	if (above >= 0)
		close(above);
	if (directory < 0)
		return -1;
	return last && is_volume(directory) ? enter_volume(directory, path, why) : keep_trusted(directory, path, why);
}

/* Every directory on the way is looked at: who can rename one of them decides what lies below. */
static int walk(char *way, struct refusal *why)
{
	int directory = descend(-1, "/", "/", false, why);
	char *part = way + 1;

	while (directory >= 0 && *part) {
		char *end = part + strcspn(part, "/"), cut = *end;

		*end = '\0';
		directory = descend(directory, part, way, !cut, why);
		*end = cut;
		part = cut ? end + 1 : end;
	}
	return directory;
}

int trust_way(const char *path, struct refusal *why)
{
	char *way;
	int directory;

	if (!word_is_path(path))
		return refuse(why, W_POLICY, 0, "policy %.128s: no plain absolute path", path);
	way = strdup(path);
	if (!way)
		return refuse(why, W_MEMORY, ENOMEM, "policy %s", path);
	directory = walk(way, why);
	free(way);
	return directory;
}

static int check_file(int file, const char *path, struct refusal *why)
{
	struct stat is;

	if (check_owner(file, &is, path, why) < 0)
		return -1;
	if (!S_ISREG(is.st_mode))
		return refuse(why, W_OWNER, 0, "policy %s: is no regular file", path);
	/* No name at all is fine: somebody has just put a new file in its place. */
	if (is.st_nlink > 1)
		return refuse(why, W_OWNER, 0, "policy %s: has a second name", path);
	if (is.st_size > POLICY_LARGEST)
		return refuse(why, W_WORD, 0, "policy %s: is longer than %d bytes", path, POLICY_LARGEST);
	return 0;
}

/* One byte more than may be, so that a file that grows meanwhile is noticed. */
static int read_all(int descriptor, struct trusted *file, struct refusal *why)
{
	ssize_t got;

	file->text = malloc(POLICY_LARGEST + 1);
	if (!file->text)
		return refuse(why, W_MEMORY, ENOMEM, "policy %s", file->path);
	do {
		got = read(descriptor, file->text + file->length, POLICY_LARGEST + 1 - file->length);
		if (got > 0)
			file->length += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 ? refuse(why, W_POLICY, errno, "policy %s", file->path) : 0;
}

int trust_file(int directory, const char *name, struct trusted *file, struct refusal *why)
{
	int descriptor = open_plain(directory, name, FILE_TO_READ), result;

	if (descriptor < 0)
		return errno == ENOENT ? 0 : refuse(why, W_POLICY, errno, "policy %s", file->path);
	result = check_file(descriptor, file->path, why);
	if (result == 0)
		result = read_all(descriptor, file, why);
	close(descriptor);
	return result < 0 ? -1 : 1;
}
