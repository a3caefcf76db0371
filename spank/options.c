#include "options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option_mounts.h"
#include "option_words.h"
#include "words.h"

/* Images are named by people's tools, too: registries, ports, digests, enroot's `#`. No blanks, no quotes. */
#define IMAGE_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/@:+#-"
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define NAME_LONGEST 63

static void replace(char **place, char *text)
{
	free(*place);
	*place = text;
}

static int take_workdir(struct options *options, const char *value, struct refusal *why)
{
	if (value[0] != '/')
		return option_wrong(why, "workdir", "no absolute path", value);
	return option_path(&options->workdir, "workdir", value, why);
}

static int take_save(struct options *options, const char *value, struct refusal *why)
{
	char path[PATH_MAX];

	if (!*value || value[strlen(value) - 1] == '/')
		return option_wrong(why, "save", "no path of a file", value);
	/* A file of the working directory, as Pyxis takes it. */
	if ((size_t)snprintf(path, sizeof(path), "%s%s", value[0] == '/' || value[0] == '.' ? "" : "./", value) >=
	    sizeof(path))
		return option_wrong(why, "save", "wrong path", value);
	return option_path(&options->save, "save", path, why);
}

static int take_image(struct options *options, const char *value, struct refusal *why)
{
	char *image;

	if (value[0] == '/' || value[0] == '.')
		return option_path(&options->image, "image", value, why);
	if (!*value || strlen(value) >= PATH_MAX || value[strspn(value, IMAGE_BYTES)] || value[0] == '-')
		return option_wrong(why, "image", "wrong name", value);
	image = strdup(value);
	if (!image)
		return option_no_memory(why);
	replace(&options->image, image);
	return 0;
}

static int reuse_named(const char *word)
{
	static const char *const names[] = {
		[REUSE_AUTO] = "auto", [REUSE_CREATE] = "create", [REUSE_EXEC] = "exec", [REUSE_NO_EXEC] = "no_exec",
	};

	for (int reuse = REUSE_AUTO; reuse <= REUSE_NO_EXEC; reuse++)
		if (!strcmp(names[reuse], word))
			return reuse;
	return -1;
}

/* NAME[:auto|create|exec|no_exec] */
static int take_name(struct options *options, const char *value, struct refusal *why)
{
	size_t length = strcspn(value, ":");
	int reuse = value[length] ? reuse_named(value + length + 1) : REUSE_AUTO;
	char *name;

	if (!length || length > NAME_LONGEST || strspn(value, NAME_BYTES) != length || value[0] == '.' ||
	    value[0] == '-')
		return option_wrong(why, "name", "wrong name", value);
	if (reuse < 0)
		return option_wrong(why, "name", "unknown word", value + length + 1);
	name = strndup(value, length);
	if (!name)
		return option_no_memory(why);
	replace(&options->name, name);
	options->reuse = (enum option_reuse)reuse;
	return 0;
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

static int read_names(char *list, char **names, size_t *count, struct refusal *why)
{
	for (char *name; (name = strsep(&list, ","));) {
		if (!word_is_variable(name))
			return option_wrong(why, "env", "wrong name of a variable", name);
		if (*count == OPTION_NAMES_MOST)
			return option_wrong(why, "env", "too many names, from here on:", name);
		names[*count] = strdup(name);
		if (!names[*count])
			return option_no_memory(why);
		++*count;
	}
	return 0;
}

static int take_environment(struct options *options, const char *value, struct refusal *why)
{
	char **names = calloc(OPTION_NAMES_MOST, sizeof(*names)), *list = strdup(value);
	size_t count = 0;
	int result = names && list ? read_names(list, names, &count, why) : option_no_memory(why);

	free(list);
	if (result < 0) {
		free_names(names, count);
		return -1;
	}
	free_names(options->environment, options->environment_count);
	options->environment = names;
	options->environment_count = count;
	return 0;
}

static int take_value(struct options *options, enum option which, const char *value, struct refusal *why)
{
	switch (which) {
	case OPTION_IMAGE:
		return take_image(options, value, why);
	case OPTION_MOUNTS:
		return option_mounts_take(options, value, why);
	case OPTION_WORKDIR:
		return take_workdir(options, value, why);
	case OPTION_NAME:
		return take_name(options, value, why);
	case OPTION_SAVE:
		return take_save(options, value, why);
	case OPTION_ENV:
		return take_environment(options, value, why);
	default:
		return refuse(why, W_OPTION, 0, "container option %d is unknown", which);
	}
}

/* Slurm tells the same more than once; but both at once is nothing that anybody can mean. */
static int take_switch(int *place, int yes, const char *both, struct refusal *why)
{
	if (*place >= 0 && *place != yes)
		return refuse(why, W_OPTION, 0, "both %s", both);
	*place = yes;
	return 0;
}

int options_take(struct options *options, enum option which, const char *value, struct refusal *why)
{
	switch (which) {
	case OPTION_MOUNT_HOME:
	case OPTION_NO_MOUNT_HOME:
		return take_switch(&options->mount_home, which == OPTION_MOUNT_HOME,
				   "--container-mount-home and --no-container-mount-home", why);
	case OPTION_REMAP_ROOT:
	case OPTION_NO_REMAP_ROOT:
		if (take_switch(&options->remap_said, which == OPTION_REMAP_ROOT,
				"--container-remap-root and --no-container-remap-root", why))
			return -1;
		options->remap_root = which == OPTION_REMAP_ROOT;
		return 0;
	case OPTION_WRITABLE:
	case OPTION_READONLY:
		return take_switch(&options->writable, which == OPTION_WRITABLE,
				   "--container-writable and --container-readonly", why);
	default:
		return take_value(options, which, value ? value : "", why);
	}
}

void options_free(struct options *options)
{
	option_mounts_free(options);
	free_names(options->environment, options->environment_count);
	free(options->image);
	free(options->workdir);
	free(options->name);
	free(options->save);
	*options = OPTIONS_UNSAID;
}
