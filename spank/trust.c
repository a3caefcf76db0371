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

/* What is looked at, and what becomes of it when it is not to be trusted. */
struct kind {
	const char *name;
	enum code missing, open;
	bool volumes; /* may be one (see is_volume) */
};

static const struct kind policies = {"policy", W_POLICY, W_OWNER, true}, images = {"image", W_IMAGE, W_IMAGE, false};

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
static int check_owner(const struct kind *kind, int file, struct stat *is, const char *path, struct refusal *why)
{
	if (fstat(file, is) < 0)
		return refuse(why, kind->missing, errno, "%s %s", kind->name, path);
	if (is->st_uid != 0)
		return refuse(why, kind->open, 0, "%s %s: belongs to uid %u, not to root", kind->name, path, is->st_uid);
	if (is->st_mode & OTHERS_WRITE)
		return refuse(why, kind->open, 0, "%s %s: others than root may write there (mode %04o)", kind->name,
			      path, is->st_mode & 07777);
	return 0;
}

/* The descriptor, if it is one to be trusted; else it is closed. */
static int keep_trusted(const struct kind *kind, int directory, const char *path, struct refusal *why)
{
	struct stat is;

	if (check_owner(kind, directory, &is, path, why) == 0)
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
	return directory < 0 ? -1 : keep_trusted(&policies, directory, path, why);
}

/* Goes down one directory; the one above is closed. Only the last one may be a volume. */
static int descend(const struct kind *kind, int above, const char *name, const char *path, bool last,
		   struct refusal *why)
{
	int directory = open_plain(above, name, DIRECTORY);

	if (directory < 0)
		refuse(why, kind->missing, errno, "%s %s", kind->name, path);
	if (above >= 0)
		close(above);
	if (directory < 0)
		return -1;
	if (last && kind->volumes && is_volume(directory))
		return enter_volume(directory, path, why);
	return keep_trusted(kind, directory, path, why);
}

/* Every directory on the way is looked at: who can rename one of them decides what lies below. */
static int walk(const struct kind *kind, char *way, struct refusal *why)
{
	int directory = descend(kind, -1, "/", "/", false, why);
	char *part = *way ? way + 1 : way; /* without any the root is all of it */

	while (directory >= 0 && *part) {
		char *end = part + strcspn(part, "/"), cut = *end;

		*end = '\0';
		directory = descend(kind, directory, part, way, !cut, why);
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
	directory = walk(&policies, way, why);
	free(way);
	return directory;
}

/* Who knows a second name of a file may have it in a directory of their own. */
static int check_names(const struct kind *kind, const struct stat *is, const char *path, struct refusal *why)
{
	/* No name at all is fine: somebody has just put a new file in its place. */
	if (!S_ISDIR(is->st_mode) && is->st_nlink > 1)
		return refuse(why, kind->open, 0, "%s %s: has a second name", kind->name, path);
	return 0;
}

static int check_file(const struct kind *kind, int file, const char *path, struct refusal *why)
{
	struct stat is;

	if (check_owner(kind, file, &is, path, why) < 0)
		return -1;
	if (!S_ISREG(is.st_mode))
		return refuse(why, kind->open, 0, "%s %s: is no regular file", kind->name, path);
	if (check_names(kind, &is, path, why) < 0)
		return -1;
	if (is.st_size > POLICY_LARGEST)
		return refuse(why, kind->volumes ? W_WORD : kind->open, 0, "%s %s: is longer than %d bytes", kind->name,
			      path, POLICY_LARGEST);
	return 0;
}

/* One byte more than may be, so that a file that grows meanwhile is noticed. */
static int read_all(const struct kind *kind, int descriptor, struct trusted *file, struct refusal *why)
{
	ssize_t got;

	file->text = malloc(POLICY_LARGEST + 1);
	if (!file->text)
		return refuse(why, W_MEMORY, ENOMEM, "%s %s", kind->name, file->path);
	do {
		got = read(descriptor, file->text + file->length, POLICY_LARGEST + 1 - file->length);
		if (got > 0)
			file->length += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 ? refuse(why, kind->missing, errno, "%s %s", kind->name, file->path) : 0;
}

static int take_file(const struct kind *kind, int directory, const char *name, struct trusted *file, struct refusal *why)
{
	int descriptor = open_plain(directory, name, FILE_TO_READ), result;

	if (descriptor < 0)
		return errno == ENOENT ? 0 : refuse(why, kind->missing, errno, "%s %s", kind->name, file->path);
	result = check_file(kind, descriptor, file->path, why);
	if (result == 0)
		result = read_all(kind, descriptor, file, why);
	close(descriptor);
	return result < 0 ? -1 : 1;
}

int trust_file(int directory, const char *name, struct trusted *file, struct refusal *why)
{
	return take_file(&policies, directory, name, file, why);
}

int trust_beside(int directory, const char *name, struct trusted *file, struct refusal *why)
{
	return take_file(&images, directory, name, file, why);
}

static int open_trusted(int directory, const char *name, const char *path, struct refusal *why)
{
	int image = open_plain(directory, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat is;

	if (image < 0)
		return refuse(why, W_IMAGE, errno, "image %s", path);
	if (check_owner(&images, image, &is, path, why) == 0 && check_names(&images, &is, path, why) == 0)
		return image;
	close(image);
	return -1;
}

int trust_image(const char *path, int *above, struct refusal *why)
{
	char *way = strdup(path), *name = way ? strrchr(way, '/') : NULL;
	int image = -1;

	*above = -1;
	if (!name) {
		free(way);
		return refuse(why, W_MEMORY, ENOMEM, "image %s", path);
	}
	*name++ = '\0';
	*above = walk(&images, way, why);
	if (*above >= 0)
		image = open_trusted(*above, name, path, why);
	free(way);
	return image;
}
