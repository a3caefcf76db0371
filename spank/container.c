#define _GNU_SOURCE
#include "container.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"
#include "layers.h"
#include "mounts.h"
#include "process.h"
#include "slurm_files.h"
#include "views.h"

static bool asks(const struct options *options)
{
	return options->name || options->mount_count || options->workdir || options->save || options->environment_count ||
	       options->mount_home > 0 || options->writable > 0 || options->remap_root;
}

int container_check(const struct step *step, struct refusal *why)
{
	const struct options *options = step->options;

	if (!options->image)
		return asks(options) ? refuse(why, W_OPTION, 0, "container options without --container-image") : 0;
	if (step->policy->no_containers)
		return refuse(why, W_OPTION, 0, "the policy allows no containers");
	if (options->image[0] != '/' && options->image[0] != '.')
		return refuse(why, W_OPTION, 0, "--container-image %.128s is not a path", options->image);
	if (options->remap_root)
		return refuse(why, W_OPTION, 0, "--container-remap-root is not to be had");
	if (options->name || options->save)
		return refuse(why, W_OPTION, 0, "--container-name and --container-save are not to be had");
	return 0;
}

/* Opened as the user, who can name nothing here that was closed before. */
static int open_as(const struct step *step, const char *path, int flags)
{
	int fd = -1, error;

	if (!thread_becomes(step->uid, step->gid) && !chdir(step->cwd))
		fd = open(path, flags | O_CLOEXEC);
	error = errno;
	if (thread_becomes(0, 0)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	errno = error;
	return fd;
}

/* With all that is mounted below it, always: without, what lies under those mounts could be seen. */
static int add_mount(struct views *views, const struct step *step, const struct option_mount *mount,
		     struct refusal *why)
{
	uint64_t attributes = HARMLESS | (mount->readonly ? MOUNT_ATTR_RDONLY : 0);
	int fd = open_as(step, mount->source, O_PATH);

	if (fd < 0)
		return refuse(why, W_SOURCE, errno, "--container-mounts: %.256s", mount->source);
	return views_take(views, fd, mount->target, attributes, why);
}

static int add_mounts(struct views *views, const struct step *step, struct refusal *why)
{
	const struct options *options = step->options;

	for (size_t i = 0; i < options->mount_count; i++)
		if (add_mount(views, step, &options->mounts[i], why))
			return -1;
	if (options->mount_home > 0 && step->home) {
		struct option_mount home = {.source = (char *)step->home, .target = (char *)step->home};

		return add_mount(views, step, &home, why);
	}
	return 0;
}

/* Nothing in here raises anybody: who brings the files around a setuid program decides what it does. */
static int add_usual(struct views *views, const struct step *step, struct refusal *why)
{
	return views_usual(views, "/proc", INERT, why) || views_usual(views, "/sys", INERT, why) ||
		       views_usual(views, "/dev", MOUNT_ATTR_NOSUID, why) ||
		       views_usual(views, "/tmp", HARMLESS, why) || views_usual(views, "/etc/hosts", INERT, why) ||
		       views_usual(views, "/etc/resolv.conf", INERT, why) ||
		       view_script(views, step->script, why)
	       ? -1 : 0;
}

static int open_image(const struct step *step, struct refusal *why)
{
	int fd = open_as(step, step->options->image, O_RDONLY), tree;

	if (fd < 0)
		return refuse(why, W_IMAGE, errno, "--container-image %.256s", step->options->image);
	tree = image_tree(fd, step->options->image, why);
	close(fd);
	return tree;
}

int container_enter(const struct step *step, struct refusal *why)
{
	struct views views = {0};
	int image = open_image(step, why);

	if (image < 0 || add_mounts(&views, step, why) || add_usual(&views, step, why))
		return -1;
	return image_enter(image, &views, step->cwd, step->options->writable > 0, why);
}
