#define _GNU_SOURCE
#include "container.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hiding.h"
#include "image.h"
#include "layers.h"
#include "mounts.h"
#include "named.h"
#include "process.h"
#include "remap.h"
#include "slurm_files.h"
#include "views.h"

static bool asks(const struct options *options)
{
	return options->mount_count || options->workdir || options->save || options->environment_count ||
	       options->mount_home > 0 || options->writable > 0 || options->remap_root;
}

int container_check(const struct step *step, struct refusal *why)
{
	const struct options *options = step->options;

	if (!options->image && !options->name)
		return asks(options) ? refuse(why, W_OPTION, 0, "container options without --container-image") : 0;
	if (step->policy->no_containers)
		return refuse(why, W_OPTION, 0, "the policy allows no containers");
	if (options->image && options->image[0] != '/' && options->image[0] != '.')
		return refuse(why, W_OPTION, 0, "--container-image %.128s is not a path", options->image);
	if (options->save && step->policy->no_saving)
		return refuse(why, W_OPTION, 0, "the policy allows no saving of containers");
	if (options->save && step->nodes > 1) /* a batch step is on none */
		return refuse(why, W_OPTION, 0,
			      "--container-save is for steps on one node, and this one is on %u: let one do it, srun -N1",
			      step->nodes);
	return 0;
}

/* Opened as the user; by no door of /proc, for this process still holds descriptors of the node. */
int open_as(const struct step *step, const char *path, int flags)
{
	int fd = -1, error;

	if (!thread_becomes(step->uid, step->gid) && !chdir(step->cwd))
		fd = plain_open(path, flags);
	error = errno;
	if (thread_becomes(0, 0)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	errno = error;
	return fd;
}

/* Memory of the step's own, as much of it as the node gives anybody: the job's limit counts what is written. */
static int add_memory(struct views *views, const struct option_mount *mount, struct refusal *why)
{
	static const struct setting settings[] = {{"mode", "1777"}, {0}};
	uint64_t attributes = HARMLESS | (mount->readonly ? MOUNT_ATTR_RDONLY : 0);

	return views_add(views, tree_make("tmpfs", settings, attributes, why), true, mount->target, why);
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

static bool is_memory(const struct option_mount *mount)
{
	return !strcmp(mount->source, OPTION_MEMORY);
}

static int add_mounts(struct views *views, const struct step *step, struct refusal *why)
{
	const struct options *options = step->options;

	for (size_t i = 0; i < options->mount_count; i++) {
		const struct option_mount *mount = &options->mounts[i];

		if (is_memory(mount) ? add_memory(views, mount, why) : add_mount(views, step, mount, why))
			return -1;
	}
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

/* Without waiting for what is no image: for whoever would write to a pipe. */
static int open_image(const struct step *step, struct refusal *why)
{
	int fd = open_as(step, step->options->image, O_RDONLY | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return refuse(why, W_IMAGE, errno, "--container-image %.256s", step->options->image);
	return fd;
}

/* As much as there is, or one byte more than there may be. */
static ssize_t read_all(int fd, char *text)
{
	size_t length = 0;
	ssize_t got;

	do {
		got = read(fd, text + length, VARIABLES_LARGEST + 1 - length);
		length += got > 0 ? (size_t)got : 0;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 ? -1 : (ssize_t)length;
}

static int take_variables(const struct step *step, int fd, const char *path, struct refusal *why)
{
	char *text = malloc(VARIABLES_LARGEST + 1);
	ssize_t length = text ? read_all(fd, text) : -1;

	if (length < 0)
		refuse(why, W_IMAGE, errno, "--container-image %s", path);
	else
		variables_take(step->variables, text, (size_t)length, path, why);
	free(text);
	return why->code == W_NONE ? 0 : -1;
}

/* The variables of a user's image are what that user can read beside it. */
static int read_variables(const struct step *step, struct refusal *why)
{
	char path[PATH_MAX];
	int fd, result;

	if ((size_t)snprintf(path, sizeof(path), "%s" VARIABLES_BESIDE, step->options->image) >= sizeof(path))
		return 0; /* no file can be called so */
	fd = open_as(step, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : refuse(why, W_IMAGE, errno, "--container-image %.256s", path);
	result = take_variables(step, fd, path, why);
	close(fd);
	return result;
}

/* Where users choose places, these are made as the user. */
static int gather(struct views *views, const struct step *step, struct refusal *why)
{
	*views = (struct views){.uid = step->uid, .gid = step->gid};
	return add_mounts(views, step, why) || add_usual(views, step, why) ? -1 : 0;
}

static int open_all(struct views *views, const struct step *step, struct refusal *why)
{
	int fd = open_image(step, why), image = -1;

	if (fd < 0)
		return -1;
	if (!read_variables(step, why) && !gather(views, step, why) && !hide_mounted(views, fd, why))
		image = image_tree(fd, step->mapped, step->options->image, why);
	close(fd);
	return image;
}

/* What shall be saved is there to be written to, if nobody says otherwise. */
static bool writable(const struct options *options)
{
	return options->writable > 0 || (options->save && options->writable < 0);
}

int container_enter(const struct step *step, struct refusal *why)
{
	struct views views;
	int image = open_all(&views, step, why);

	return image < 0 ? -1 : image_enter(image, &views, step->cwd, writable(step->options), why);
}

int container_files(const struct step *step, struct refusal *why)
{
	struct views views;
	int image = shared_enter(step, why) ? -1 : open_all(&views, step, why);

	return image < 0 ? -1 : image_files(image, &views, step->cwd, why);
}

/* What has a name is kept to be written to, if nobody says otherwise. */
int container_enter_again(const struct step *step, int files, struct refusal *why)
{
	struct views views;

	return gather(&views, step, why) ? -1 : files_enter(files, &views, step->cwd, step->options->writable, why);
}

int container_room(struct room *room, struct step *step, int *mapped, struct refusal *why)
{
	struct refusal unmapped = {0};

	/* Only who asks to be root needs it; others' files stay as they are without. */
	step->mapped = *mapped = remap_make(step->uid, step->gid, step->options->remap_root ? why : &unmapped);
	if (why->code != W_NONE)
		return -1;
	if (step->options->name)
		return named_room(room, step, why);
	return room_make(room, CLONE_NEWNS, shared_furnish, step, why);
}
