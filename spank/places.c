#define _GNU_SOURCE
#include "places.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS 40 /* on one way; Linux follows as many */
#define FOLLOW (-2)

static int refuse_place(struct refusal *why, int error, const char *path)
{
	return refuse(why, W_MOUNT, error, "a place at %.256s of the new root", path);
}

/* Without following a link. Who asks for a directory has it mounted where that happens by itself. */
static int open_name(int above, const char *name)
{
	int fd = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 && errno == ENOTDIR ? openat(above, name, O_PATH | O_NOFOLLOW | O_CLOEXEC) : fd;
}

static int make_name(int above, const char *name, bool directory)
{
	int file;

	if (directory)
		return mkdirat(above, name, 0755) && errno != EEXIST ? -1 : 0;
	file = openat(above, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (file < 0)
		return errno == EEXIST ? 0 : -1;
	return close(file);
}

static int find_or_make(int above, const char *name, bool directory)
{
	int fd = open_name(above, name);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	return make_name(above, name, directory) ? -1 : open_name(above, name);
}

/* Whoever may rename in a directory decides which of its links has which name, also if all of them are root's. */
static bool is_roots(const struct stat *link, const struct stat *above)
{
	return !link->st_uid && !above->st_uid && (!(above->st_mode & (S_IWGRP | S_IWOTH)) || above->st_mode & S_ISVTX);
}

static int check_link(int above, const struct stat *link, const char *path, struct refusal *why)
{
	struct stat in;

	if (fstat(above, &in))
		return refuse_place(why, errno, path);
	if (!is_roots(link, &in))
		return refuse(why, W_MOUNT, 0, "a place of the new root: %.256s is a link of uid %u in a directory of uid %u, "
			      "mode %04o: who can lead it anywhere is not root alone; put a directory there",
			      path, link->st_uid, in.st_uid, in.st_mode & 07777);
	return 0;
}

/* Names only: there is no link before `..` in a way that was gone already. */
static void flatten(char *path)
{
	char *out = path;

	for (char *name = path, *end; *name; name = end) {
		size_t length;

		name += strspn(name, "/");
		end = name + strcspn(name, "/");
		length = (size_t)(end - name);
		if (length == 2 && !memcmp(name, "..", 2)) {
			while (out > path && *--out != '/')
				;
		} else if (length && !(length == 1 && *name == '.')) {
			*out++ = '/';
			memmove(out, name, length);
			out += length;
		}
	}
	*out = '\0';
}

/* Writes where a link leads into the way; `name` is the link's own, its last one, and `rest` comes behind it. */
static int follow(int link, char *way, const char *name, const char *rest, struct refusal *why)
{
	char target[PATH_MAX], whole[PATH_MAX];
	ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);
	int above = (int)(name - way);

	if (length < 0)
		return refuse_place(why, errno, way);
	target[length] = '\0';
	if ((size_t)snprintf(whole, sizeof(whole), "%.*s/%s/%s", *target == '/' ? 0 : above, way, target, rest) >=
	    sizeof(whole))
		return refuse_place(why, ENAMETOOLONG, way);
	flatten(whole);
	memcpy(way, whole, strlen(whole) + 1);
	return FOLLOW;
}

/* Goes one name further; `end` is behind it. What was above is closed. */
static int descend(int above, char *way, char *name, char *end, bool directory, struct refusal *why)
{
	char cut = *end;
	struct stat is;
	int fd, next;

	*end = '\0';
	next = fd = find_or_make(above, name + 1, directory || cut);
	if (fd < 0 || fstat(fd, &is))
		next = refuse_place(why, errno, way);
	else if (S_ISLNK(is.st_mode))
		next = check_link(above, &is, way, why) ? -1 : follow(fd, way, name, cut ? end + 1 : end, why);
	else
		*end = cut;
	if (fd >= 0 && next != fd)
		close(fd);
	close(above);
	return next;
}

static int walk(int root, char *way, bool directory, struct refusal *why)
{
	int here = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (here < 0)
		return refuse_place(why, errno, way);
	for (char *name = way, *end; here >= 0 && *name; name = end) {
		end = name + 1 + strcspn(name + 1, "/");
		here = descend(here, way, name, end, directory, why);
	}
	return here;
}

int place_of_root(int root, const char *path, bool directory, struct refusal *why)
{
	char way[PATH_MAX];
	int place = FOLLOW;

	if ((size_t)snprintf(way, sizeof(way), "%s", path) >= sizeof(way))
		return refuse_place(why, ENAMETOOLONG, path);
	for (int links = 0; place == FOLLOW && links <= LINKS; links++)
		place = walk(root, way, directory, why);
	return place == FOLLOW ? refuse_place(why, ELOOP, path) : place;
}
