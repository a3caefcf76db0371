#include "option_mounts.h"

#include <stdlib.h>
#include <string.h>

#include "option_words.h"

/* Whether we can do what a flag says: one that we passed over could be somebody's protection. */
static bool read_flag(const char *flag, struct option_mount *mount)
{
	static const char *const always[] = {
		"nosuid", "nodev", "private", "rprivate", "x-create=auto", "x-create=dir", "x-create=file",
	};

	if (!strcmp(flag, "ro") || !strcmp(flag, "rw")) {
		mount->readonly = flag[1] == 'o';
		return true;
	}
	if (!strcmp(flag, "bind") || !strcmp(flag, "rbind")) {
		mount->recursive = flag[0] == 'r';
		return true;
	}
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		if (!strcmp(flag, always[i]))
			return true;
	return false;
}

static int read_flags(char *flags, struct option_mount *mount, struct refusal *why)
{
	for (char *flag; (flag = strsep(&flags, "+"));)
		if (!read_flag(flag, mount))
			return option_wrong(why, "mounts", "unknown flag", flag);
	return 0;
}

static int read_source(char **place, const char *source, struct refusal *why)
{
	if (strcmp(source, OPTION_MEMORY) != 0)
		return option_path(place, "mounts", source, why);
	*place = strdup(source);
	return *place ? 0 : option_no_memory(why);
}

/* SRC[:DST[:FLAGS]]; Pyxis' source "umount" is no path, and refused as such. */
static int read_mount(char *entry, struct option_mount *mount, struct refusal *why)
{
	char *source = strsep(&entry, ":"), *target = strsep(&entry, ":");

	mount->recursive = true;
	if (!target)
		target = source;
	if (read_source(&mount->source, source, why) < 0)
		return -1;
	if (target[0] != '/')
		return option_wrong(why, "mounts", "no absolute path to mount at:", target);
	if (option_path(&mount->target, "mounts", target, why) < 0)
		return -1;
	if (!strcmp(mount->target, "/"))
		return option_wrong(why, "mounts", "nothing can be mounted at", "/");
	return entry ? read_flags(entry, mount, why) : 0;
}

static void drop(struct option_mount *mount)
{
	free(mount->source);
	free(mount->target);
}

static bool same_mount(const struct option_mount *one, const struct option_mount *other)
{
	return !strcmp(one->source, other->source) && !strcmp(one->target, other->target) &&
	       one->readonly == other->readonly && one->recursive == other->recursive;
}

static bool is_known(const struct option_mount *mounts, size_t count, const struct option_mount *mount)
{
	for (size_t i = 0; i < count; i++)
		if (same_mount(&mounts[i], mount))
			return true;
	return false;
}

/* The mounts of one list that are not known yet, as options come by several ways; there is room for all that may be. */
static int read_mounts(char *list, struct option_mount *mounts, size_t *count, struct refusal *why)
{
	for (char *entry; (entry = strsep(&list, ","));) {
		struct option_mount *mount = &mounts[*count];

		if (*count == OPTION_MOUNTS_MOST)
			return option_wrong(why, "mounts", "too many mounts, from here on:", entry);
		*mount = (struct option_mount){0};
		++*count;
		if (read_mount(entry, mount, why) < 0)
			return -1;
		if (is_known(mounts, *count - 1, mount)) {
			drop(mount);
			--*count;
		}
	}
	return 0;
}

/* All of a list or nothing of it: whoever is refused has the mounts that were there before. */
int option_mounts_take(struct options *options, const char *value, struct refusal *why)
{
	size_t before = options->mount_count, count = before;
	struct option_mount *mounts = reallocarray(options->mounts, OPTION_MOUNTS_MOST, sizeof(*mounts));
	char *list = strdup(value);
	int result;

	if (mounts)
		options->mounts = mounts;
	result = mounts && list ? read_mounts(list, mounts, &count, why) : option_no_memory(why);
	free(list);
	if (result == 0) {
		options->mount_count = count;
		return 0;
	}
	while (count > before)
		drop(&options->mounts[--count]);
	return -1;
}

void option_mounts_free(struct options *options)
{
	for (size_t i = 0; i < options->mount_count; i++)
		drop(&options->mounts[i]);
	free(options->mounts);
	options->mounts = NULL;
	options->mount_count = 0;
}
