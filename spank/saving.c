#define _GNU_SOURCE
#include "saving.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container.h"
#include "kept.h"
#include "mounts.h"
#include "packing.h"

#define TRIES 3 /* of tidying up: whoever does it may be killed with the step */

static int failed(struct refusal *why, const char *path)
{
	return refuse(why, W_SAVE, errno, "--container-save %.256s", path);
}

/* The step's variables and groups outlive its beginning; what is known of them there does not. */
static int copy(void **place, const void *from, size_t bytes, struct refusal *why)
{
	*place = malloc(bytes ? bytes : 1);
	if (!*place)
		return refuse(why, W_MEMORY, ENOMEM, "what is to be saved");
	if (bytes)
		memcpy(*place, from, bytes);
	return 0;
}

static int note(struct saving *saving, const struct step *step, struct refusal *why)
{
	uint32_t chance;
	void *copied;

	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		return failed(why, step->options->save);
	snprintf(saving->temporary, sizeof(saving->temporary), ".penstock-%u-%08x", step->job, chance);
	snprintf(saving->job, sizeof(saving->job), "SLURM_JOB_ID=%u", step->job);
	if (copy(&copied, step->groups, step->group_count * sizeof(*step->groups), why))
		return -1;
	saving->groups = copied;
	saving->group_count = step->group_count;
	if (copy(&copied, step->variables->text, step->variables->length, why))
		return -1;
	saving->variables = copied;
	saving->length = step->variables->length;
	return 0;
}

/* Somebody else's file in a directory like /tmp stays. */
static int check_there(const struct saving *saving, int directory, struct refusal *why)
{
	struct stat there, above;

	if (fstatat(directory, saving->name, &there, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : failed(why, saving->path);
	if (S_ISDIR(there.st_mode))
		errno = EISDIR;
	else if (fstat(directory, &above))
		return failed(why, saving->path);
	else if (above.st_mode & S_ISVTX && there.st_uid != saving->uid && above.st_uid != saving->uid)
		errno = EPERM;
	else
		return 0;
	return failed(why, saving->path);
}

/* Nothing but a new file proves that there can be one. */
static int try_there(const struct saving *saving, int directory, struct refusal *why)
{
	int file = openat(directory, saving->temporary, PACKING_NEW, 0600);

	if (file < 0)
		return failed(why, saving->path);
	close(file);
	return unlinkat(directory, saving->temporary, 0) ? failed(why, saving->path) : check_there(saving, directory, why);
}

static int open_directory(const struct saving *saving, const struct step *step, struct refusal *why)
{
	char above[PATH_MAX];
	int directory, tried;

	/* Of /file the directory is `/`, of ./file it is `.` */
	snprintf(above, sizeof(above), "%.*s/.", (int)(saving->name - saving->path - 1), saving->path);
	directory = open_as(step, above, O_PATH | O_DIRECTORY);
	if (directory < 0)
		return failed(why, saving->path);
	if (thread_becomes(saving->uid, saving->gid))
		return failed(why, saving->path);
	tried = try_there(saving, directory, why);
	return thread_becomes(0, 0) || tried ? -1 : directory;
}

/* The root of the container, which the caller leaves its own room for. Where other things are mounted it is empty. */
static int open_tree_of(const struct room *container, struct refusal *why)
{
	int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC), root = -1, tree = -1;

	if (own < 0 || room_enter(container, why) || (root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		return refuse(why, W_NAMESPACE, errno, "the files of the container");
	tree = tree_copy(root, HARMLESS | MOUNT_ATTR_RDONLY, false, "the container", why);
	close(root);
	if (setns(own, CLONE_NEWNS))
		return refuse(why, W_NAMESPACE, errno, "whoever packs the container");
	close(own);
	return tree;
}

struct making {
	const struct saving *saving;
	const struct step *step;
	const struct room *container;
	int talk;
};

static int furnish(void *what, struct refusal *why)
{
	const struct making *making = what;
	int directory, tree;

	if (shared_enter(making->step, why) || packing_check(why))
		return -1;
	directory = open_directory(making->saving, making->step, why);
	tree = directory < 0 ? -1 : open_tree_of(making->container, why);
	if (tree < 0)
		return -1;
	return kept_send(making->talk, directory) || kept_send(making->talk, tree) ? failed(why, making->saving->path) : 0;
}

static int make(struct saving *saving, const struct step *step, const struct room *container, struct refusal *why)
{
	int talk[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk))
		return failed(why, saving->path);
	if (!room_make(&saving->room, CLONE_NEWNS, furnish, &(struct making){saving, step, container, talk[1]}, why)) {
		saving->directory = kept_receive(talk[0]);
		saving->tree = kept_receive(talk[0]);
		if (saving->directory < 0 || saving->tree < 0)
			failed(why, saving->path);
	}
	close(talk[0]);
	close(talk[1]);
	return why->code == W_NONE ? 0 : -1;
}

int saving_begin(struct saving *saving, const struct step *step, const struct room *container, struct refusal *why)
{
	const char *slash = strrchr(step->options->save, '/');

	*saving = SAVING_NOTHING;
	saving->path = step->options->save;
	saving->uid = step->uid;
	saving->gid = step->gid;
	saving->name = slash ? slash + 1 : "";
	if (!*saving->name || strlen(saving->name) + strlen(VARIABLES_BESIDE) > NAME_MAX)
		refuse(why, W_SAVE, 0, "--container-save %.256s is no path of a file", saving->path);
	else if (!note(saving, step, why))
		make(saving, step, container, why);
	if (why->code != W_NONE)
		saving_end(saving);
	return why->code == W_NONE ? 0 : -1;
}

int saving_do(const struct saving *saving, struct refusal *why)
{
	if (!packing_run(saving, packing_pack, why) && !packing_run(saving, packing_finish, why))
		return 0;
	for (int tries = 0; tries < TRIES; tries++) {
		struct refusal left = {0};

		if (!packing_run(saving, packing_tidy, &left))
			break;
	}
	return -1;
}

void saving_end(struct saving *saving)
{
	room_end(&saving->room);
	if (saving->directory >= 0)
		close(saving->directory);
	if (saving->tree >= 0)
		close(saving->tree);
	free(saving->groups);
	free(saving->variables);
	*saving = SAVING_NOTHING;
}
