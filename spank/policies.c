#define _GNU_SOURCE /* O_PATH */

#include "policies.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "words.h"

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)
#define DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FILE_TO_READ (O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) /* a pipe must not hold us */

/* A file, by the name that people know it by, and what it says. */
struct source {
	char path[512];
	char *text;
	size_t length;
};

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
static int check_owner(int file, const char *path, struct refusal *why)
{
	struct stat is;

	if (fstat(file, &is) < 0)
		return refuse(why, W_POLICY, errno, "policy %s", path);
	if (is.st_uid != 0)
		return refuse(why, W_OWNER, 0, "policy %s: belongs to uid %u, not to root", path, is.st_uid);
	if (is.st_mode & OTHERS_WRITE)
		return refuse(why, W_OWNER, 0, "policy %s: others than root may write there (mode %04o)", path,
			      is.st_mode & 07777);
	return 0;
}

/* Goes down one directory, which is trusted then; the one above is closed. */
static int descend(int above, const char *name, const char *path, struct refusal *why)
{
	int directory = open_plain(above, name, DIRECTORY);

	if (directory < 0)
		refuse(why, W_POLICY, errno, "policy %s", path);
	if (above >= 0)
		close(above);
	if (directory < 0)
		return -1;
	if (check_owner(directory, path, why) == 0)
		return directory;
	close(directory);
	return -1;
}

/* Every directory on the way is looked at: who can rename one of them decides what lies below. */
static int walk(char *way, struct refusal *why)
{
	int directory = descend(-1, "/", "/", why);
	char *part = way + 1;

	while (directory >= 0 && *part) {
		char *end = part + strcspn(part, "/"), cut = *end;

		*end = '\0';
		directory = descend(directory, part, way, why);
		*end = cut;
		part = cut ? end + 1 : end;
	}
	return directory;
}

static int open_policies(const char *path, struct refusal *why)
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

	if (check_owner(file, path, why) < 0)
		return -1;
	if (fstat(file, &is) < 0)
		return refuse(why, W_POLICY, errno, "policy %s", path);
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
static int read_all(int file, struct source *source, struct refusal *why)
{
	ssize_t got;

	source->text = malloc(POLICY_LARGEST + 1);
	if (!source->text)
		return refuse(why, W_MEMORY, ENOMEM, "policy %s", source->path);
	do {
		got = read(file, source->text + source->length, POLICY_LARGEST + 1 - source->length);
		if (got > 0)
			source->length += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 ? refuse(why, W_POLICY, errno, "policy %s", source->path) : 0;
}

/* 1: here is its text, 0: there is no such file. */
static int take_text(int directory, const char *name, struct source *source, struct refusal *why)
{
	int file = open_plain(directory, name, FILE_TO_READ), result;

	if (file < 0)
		return errno == ENOENT ? 0 : refuse(why, W_POLICY, errno, "policy %s", source->path);
	result = check_file(file, source->path, why);
	if (result == 0)
		result = read_all(file, source, why);
	close(file);
	return result < 0 ? -1 : 1;
}

/* What is wrong with a file's text, told with its name. */
static int blame(const struct source *source, const struct refusal *wrong, struct refusal *why)
{
	return refuse(why, wrong->code, wrong->error, "policy %s: %s", source->path, wrong->what);
}

/* 1: read, 0: there is no such file. */
static int take_policy(int directory, const char *name, struct source *source, struct policy *policy,
		       struct refusal *why)
{
	struct refusal wrong = {0};
	int found = take_text(directory, name, source, why);

	if (found > 0 && policy_read(source->text, source->length, policy, &wrong) < 0)
		found = blame(source, &wrong, why);
	free(source->text);
	return found;
}

static int own_policy(int policies, const char *path, uid_t uid, struct policy *policy, struct refusal *why)
{
	int result, own = open_plain(policies, "uid", DIRECTORY);
	struct source source = {0};
	char name[16];

	snprintf(source.path, sizeof(source.path), "%s/uid", path);
	if (own < 0)
		return errno == ENOENT ? 0 : refuse(why, W_POLICY, errno, "policy %s", source.path);
	result = check_owner(own, source.path, why);
	snprintf(name, sizeof(name), "%u", uid);
	snprintf(source.path, sizeof(source.path), "%s/uid/%s", path, name);
	if (result == 0)
		result = take_policy(own, name, &source, policy, why);
	close(own);
	return result;
}

/* Without `ranges` nobody can know who must not be let through, so it has to be there. */
static int class_of(int policies, const char *path, uid_t uid, enum user_class *class, struct refusal *why)
{
	struct refusal wrong = {0};
	struct source source = {0};
	int found;

	snprintf(source.path, sizeof(source.path), "%s/ranges", path);
	found = take_text(policies, "ranges", &source, why);
	if (found == 0)
		found = refuse(why, W_POLICY, 0, "policy %s: there is no file \"ranges\"", path);
	else if (found > 0 && ranges_read(source.text, source.length, uid, class, &wrong) < 0)
		found = blame(&source, &wrong, why);
	free(source.text);
	return found < 0 ? -1 : 0;
}

/* One file for many can never be a tenant's: two uids would share what the walls are to keep apart. */
static int check_default(const char *path, enum user_class wanted, enum user_class has, struct refusal *why)
{
	if (has == CLASS_TENANT)
		return refuse(why, W_POLICY, 0, "policy %s/default: a tenant has a file of its own", path);
	if (wanted != CLASS_NONE && wanted != has)
		return refuse(why, W_POLICY, 0, "policy %s/default: has class %s, the uid's range has class %s", path,
			      class_name(has), class_name(wanted));
	return 0;
}

static int default_policy(int policies, const char *path, uid_t uid, struct policy *policy, struct refusal *why)
{
	struct source source = {0};
	enum user_class wanted = CLASS_NONE;
	int found;

	if (class_of(policies, path, uid, &wanted, why) < 0)
		return -1;
	if (wanted == CLASS_TENANT)
		return refuse(why, W_RANGE, 0, "policy %s: tenant's uid %u has no file of its own", path, uid);
	snprintf(source.path, sizeof(source.path), "%s/default", path);
	found = take_policy(policies, "default", &source, policy, why);
	if (found == 0)
		return refuse(why, W_POLICY, 0, "policy %s: uid %u has no file, and there is no default", path, uid);
	return found < 0 ? -1 : check_default(path, wanted, policy->class, why);
}

int policy_of(const char *directory, uid_t uid, struct policy *policy, struct refusal *why)
{
	int policies = open_policies(directory, why), result;

	*policy = (struct policy){0};
	if (policies < 0)
		return -1;
	result = own_policy(policies, directory, uid, policy, why);
	if (result == 0)
		result = default_policy(policies, directory, uid, policy, why);
	close(policies);
	if (result < 0)
		policy_free(policy);
	return result < 0 ? -1 : 0;
}
