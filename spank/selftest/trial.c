#define _GNU_SOURCE
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../confine.h"
#include "../environment.h"
#include "../options.h"
#include "../output.h"
#include "../process.h"
#include "../walls.h"

/* What lies on the node for the trial: in memory, seen by this program only, gone with it. */
struct scene {
	char place[32], image[64], data[64], output[64];
};

static int copy_self(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
	ssize_t copied = 1;

	while (from >= 0 && to >= 0 && copied > 0)
		copied = sendfile(to, from, NULL, 1 << 20);
	if (from >= 0)
		close(from);
	/* The set-uid bit is what the room must make nothing of. */
	if (to < 0 || copied || fchmod(to, 04755) || close(to))
		return -1;
	return from < 0 ? -1 : 0;
}

static int directory(char *path, size_t size, const char *place, const char *name, uid_t owner)
{
	snprintf(path, size, "%s/%s", place, name);
	return mkdir(path, 0755) || chown(path, owner, owner);
}

static int furnish(struct scene *scene)
{
	char path[96];

	snprintf(scene->place, sizeof(scene->place), "/run/penstock-selftest-XXXXXX");
	if (!mkdtemp(scene->place) || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("selftest", scene->place, "tmpfs", 0, "mode=0755"))
		return -1;
	if (directory(scene->image, sizeof(scene->image), scene->place, "image", 0) ||
	    directory(scene->data, sizeof(scene->data), scene->place, "data", PROBE_UID) ||
	    directory(scene->output, sizeof(scene->output), scene->place, "output", PROBE_UID))
		return -1;
	snprintf(path, sizeof(path), "%s/device", scene->image);
	if (mknod(path, S_IFCHR | 0666, makedev(1, 3)) || chmod(path, 0666))
		return -1;
	snprintf(path, sizeof(path), "%s/probe", scene->image);
	return copy_self(path);
}

/* A job's variables, of which some are on the list. */
static void leave_environment(const struct policy *policy, char *kept[])
{
	static char *const job[] = {"SLURM_JOB_ID=1", "SECRET_KEY=x", "SLURM_CONF=x", "LD_PRELOAD=x", NULL};

	for (char *const *one = job; *one; one++)
		if (environment_passes(policy, *one, strcspn(*one, "=")))
			*kept++ = *one;
	*kept = NULL;
}

static int become_tenant(void)
{
	return syscall(SYS_setresgid, PROBE_UID, PROBE_UID, PROBE_UID) ||
	       syscall(SYS_setresuid, PROBE_UID, PROBE_UID, PROBE_UID);
}

/* As the hooks do, in their order; returns when the task must not run. */
static void run_task(const struct room *room, const struct policy *policy, int output, char *words[],
		     struct refusal *why)
{
	char *environment[8];

	umask(0);
	if (room_enter(room, why) || confine_first(policy, why))
		return;
	if (become_tenant()) {
		refuse(why, W_CONFINE, errno, "becoming the tenant");
		return;
	}
	leave_environment(policy, environment);
	if (output_check(policy, output, why) || chdir("/") || confine_descriptors(why) || confine_last(policy, why))
		return;
	execve("/probe", words, environment);
	refuse(why, W_ROOT, errno, "starting the program that looks around");
}

static int namespaces_of_node(char ids[NAMESPACE_COUNT][64])
{
	for (int i = 0; i < NAMESPACE_COUNT; i++) {
		char path[32];
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i]);
		length = readlink(path, ids[i], sizeof(ids[i]) - 1);
		if (length < 0)
			return -1;
		ids[i][length] = '\0';
	}
	return 0;
}

/* The child: its stdout is the pipe, the rest is nothing. */
static void begin_task(const struct room *room, const struct policy *policy, int output, int pipe,
		       char ids[NAMESPACE_COUNT][64])
{
	char line[768], *words[NAMESPACE_COUNT + 3] = {"probe", "inside"};
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct refusal why = {0};

	if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(pipe, 1) < 0 || dup2(nothing, 2) < 0)
		_exit(2);
	for (int i = 0; i < NAMESPACE_COUNT; i++)
		words[i + 2] = ids[i];
	if (dup(nothing) < 0) /* slurmstepd, too, has open what a program's start would not close */
		_exit(2);
	run_task(room, policy, output, words, &why);
	refusal_words(&why, line, sizeof(line));
	dprintf(1, "failed task: %.200s\n", line);
	_exit(1);
}

static void read_all(int pipe, char *text, size_t size)
{
	size_t length = 0;
	ssize_t got;

	while (length + 1 < size && (got = read(pipe, text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
}

static void listen_to(struct findings *findings, const struct room *room, const struct policy *policy, int output)
{
	static char text[32768];
	char ids[NAMESPACE_COUNT][64];
	int ends[2], status = -1;
	struct refusal why = {0};
	pid_t task;

	if (namespaces_of_node(ids) || pipe2(ends, O_CLOEXEC) || room_bear(room, &why)) {
		found(findings, "task", false, "%s", strerror(errno));
		return;
	}
	task = fork();
	if (!task)
		begin_task(room, policy, output, ends[1], ids);
	room_rest(room);
	close(ends[1]);
	read_all(ends[0], text, sizeof(text));
	close(ends[0]);
	if (task > 0)
		waitpid(task, &status, 0);
	findings_read(findings, text);
	found(findings, "looked at all", !status, "the program in the room ended with %d", status);
}

static void try_room(struct findings *findings, struct step *step)
{
	struct refusal why = {0};
	char line[768];
	struct room room;
	int output = output_open(step->policy, &why);

	if (output >= 0 && !room_make(&room, walls_kinds(step->policy), walls_furnish, step, &why)) {
		listen_to(findings, &room, step->policy, output);
		room_end(&room);
	}
	refusal_words(&why, line, sizeof(line));
	found(findings, "room", why.code == W_NONE, "%.200s", why.code == W_NONE ? "made and ended" : line);
	if (output >= 0)
		close(output);
}

static bool is_allowed(const struct policy *policy, const char *path)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		struct refusal why = {0};
		int directory = output_open(policy, &why), file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

		if (file < 0 || dup2(file, 0) < 0 || dup2(file, 1) < 0 || dup2(file, 2) < 0)
			_exit(2);
		_exit(output_check(policy, directory, &why) ? 1 : 0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

static void try_output(struct findings *findings, const struct policy *policy, const struct scene *scene)
{
	char inside[96], outside[96];
	bool in, out;

	snprintf(inside, sizeof(inside), "%s/file", scene->output);
	snprintf(outside, sizeof(outside), "%s/file", scene->place);
	in = is_allowed(policy, inside);
	out = is_allowed(policy, outside);
	found(findings, "output", in && !out, "inside the tenant's directory %s, outside %s", in ? "allowed" : "refused",
	      out ? "allowed" : "refused");
}

void trial(struct findings *findings)
{
	struct scene scene = {0};
	struct policy_image image = {.digest = "sha256:0", .path = scene.image};
	struct policy_mount data = {.source = scene.data, .target = "/data", .writable = true};
	struct policy_limit files = {.what = RLIMIT_NOFILE, .most = PROBE_FILES};
	struct policy policy = {
		.class = CLASS_TENANT, .tenant = "selftest", .images = &image, .image_count = 1, .mounts = &data,
		.mount_count = 1, .limits = &files, .limit_count = 1, .output = scene.output, .tmp_bytes = PROBE_TMP,
		.shm_bytes = PROBE_SHM,
	};
	struct options options = {0};
	struct step step = {
		.uid = PROBE_UID, .gid = PROBE_UID, .policy = &policy, .options = &options, .cwd = "/", .host = PROBE_HOST,
	};

	if (furnish(&scene)) {
		found(findings, "scene", false, "what the trial needs below /run: %s", strerror(errno));
		return;
	}
	try_room(findings, &step);
	try_output(findings, &policy, &scene);
	umount2(scene.place, MNT_DETACH);
	rmdir(scene.place);
}
