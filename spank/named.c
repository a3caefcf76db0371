#define _GNU_SOURCE
#include "named.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container.h"
#include "kept.h"
#include "trust.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int failed(struct refusal *why, const struct step *step)
{
	return refuse(why, W_ROOT, errno, "--container-name %s in " KEPT, step->options->name);
}

static int make_directory(int above, const char *name)
{
	return mkdirat(above, name, 0700) && errno != EEXIST ? -1 : openat(above, name, DIRECTORY);
}

/* All of the way is root's. Steps of a job take turns, so that two who ask for something new have one. */
static int open_job(const struct step *step, struct refusal *why)
{
	char name[KEPT_JOB_LONGEST];
	int rooms, job;

	mkdir("/run/penstock", 0755);
	mkdir(KEPT, 0700);
	rooms = trust_way(KEPT, why);
	if (rooms < 0)
		return -1;
	kept_job(name, step->job, step->uid);
	job = make_directory(rooms, name);
	close(rooms);
	if (job < 0 || flock(job, LOCK_EX))
		failed(why, step);
	return job;
}

static int check(const struct step *step, bool there, struct refusal *why)
{
	const struct options *options = step->options;

	if (there && options->reuse == REUSE_CREATE)
		return refuse(why, W_OPTION, 0, "--container-name %s is there already", options->name);
	if (!there && (options->reuse == REUSE_EXEC || !options->image))
		return refuse(why, W_OPTION, 0, "--container-name %s is not there%s", options->name,
			      options->image ? "" : " yet, so it needs --container-image");
	return 0;
}

/* What the image said when the files were made. */
static int recall(int place, const struct step *step, struct refusal *why)
{
	struct trusted file = {.path = "of a named container"};
	int found = trust_beside(place, KEPT_VARIABLES, &file, why);

	if (found > 0)
		found = variables_take(step->variables, file.text, file.length, file.path, why);
	free(file.text);
	return found < 0 ? -1 : 0;
}

static int note(int place, const struct variables *variables)
{
	int fd = openat(place, KEPT_VARIABLES, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int wrong = fd < 0 || write(fd, variables->text, variables->length) != (ssize_t)variables->length;

	if (fd >= 0)
		close(fd);
	return wrong;
}

struct making {
	struct step *step;
	int talk;
};

static int make_and_send(void *what, struct refusal *why)
{
	const struct making *making = what;
	int tree = container_files(making->step, why);

	if (tree < 0)
		return -1;
	return kept_send(making->talk, tree) ? refuse(why, W_ROOT, errno, "files of a named container") : 0;
}

/* The tree itself; what it was made in is gone already. */
static int make_tree(struct step *step, struct refusal *why)
{
	struct room workshop;
	int talk[2], tree = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk))
		return failed(why, step);
	if (!room_make(&workshop, CLONE_NEWNS, make_and_send, &(struct making){step, talk[1]}, why)) {
		tree = kept_receive(talk[0]);
		room_end(&workshop);
	}
	close(talk[0]);
	close(talk[1]);
	return tree;
}

static int make_files(int place, struct step *step, struct refusal *why)
{
	int files = make_directory(place, KEPT_FILES), tree = make_tree(step, why), copied = -1;

	if (files >= 0 && tree >= 0 && !note(place, step->variables))
		copied = kept_files(step->job, step->uid, step->options->name, tree);
	if (copied < 0)
		failed(why, step);
	if (tree >= 0)
		close(tree);
	if (files >= 0)
		close(files);
	return copied;
}

static int use(struct room *room, int place, struct step *step, struct refusal *why)
{
	bool there;

	step->files = kept_files(step->job, step->uid, step->options->name, -1);
	there = step->files >= 0;
	if (!there && errno != ENOENT)
		return failed(why, step);
	if (check(step, there, why) || (there && recall(place, step, why)))
		return -1;
	if (!there)
		step->files = make_files(place, step, why);
	return step->files < 0 ? -1 : room_make(room, CLONE_NEWNS, shared_furnish, step, why);
}

int named_room(struct room *room, struct step *step, struct refusal *why)
{
	int job = open_job(step, why), place = -1;

	if (why->code == W_NONE && (place = make_directory(job, step->options->name)) < 0)
		failed(why, step);
	if (place >= 0) {
		use(room, place, step, why);
		close(place);
	}
	if (job >= 0)
		close(job);
	return why->code == W_NONE ? 0 : -1;
}
