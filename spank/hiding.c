#define _GNU_SOURCE
#include "hiding.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "words.h"

/* The kernel writes blanks and the like as three octal digits behind a backslash. */
static void decode(char *path)
{
	char *out = path;

	for (const char *in = path; *in; out++) {
		unsigned byte;

		if (sscanf(in, "\\%3o", &byte) == 1) {
			*out = (char)byte;
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = '\0';
}

/* Without asking a server that may not answer; what cannot be said is a directory, as most are. */
static bool is_directory(const char *path)
{
	struct statx is = {0};

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &is) ||
	       S_ISDIR(is.stx_mode);
}

/* `top` is without its last slash. */
static int hide(struct views *views, const char *top, const char *mounted, struct refusal *why)
{
	const char *target = mounted + strlen(top);

	if (!word_is_within(mounted, *top ? top : "/") || !target[0] || !target[1] || views_show(views, target))
		return 0;
	return views_hide(views, is_directory(mounted), target, why);
}

static int hide_listed(struct views *views, const char *top, FILE *list, struct refusal *why)
{
	char *line = NULL, mounted[PATH_MAX];
	size_t size = 0;

	while (why->code == W_NONE && getline(&line, &size, list) > 0)
		if (sscanf(line, "%*s %*s %*s %*s %4095s", mounted) == 1) {
			decode(mounted);
			hide(views, top, mounted, why);
		}
	free(line);
	return why->code == W_NONE ? 0 : -1;
}

int hide_mounted(struct views *views, int image, struct refusal *why)
{
	char link[64], top[PATH_MAX];
	FILE *list = fopen("/proc/self/mountinfo", "re");
	ssize_t length;
	int hidden = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", image);
	length = readlink(link, top, sizeof(top) - 1);
	if (!list || length <= 0) {
		refuse(why, W_IMAGE, errno, "what is mounted below the image");
	} else {
		top[length] = '\0';
		hidden = hide_listed(views, strcmp(top, "/") ? top : "", list, why);
	}
	if (list)
		fclose(list);
	return hidden;
}
