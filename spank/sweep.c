#define _GNU_SOURCE
#include "sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

#define JOBS "/run/penstock/jobs" /* of the node: a pod that begins anew has none */
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define ROUNDS 8     /* of looking for programs: those that are ended may have begun others */
#define LAST_MS 5000 /* a program's end takes a millisecond; what takes longer hangs in the kernel */
#define WAIT_MS 2000 /* for others who note, or take memory away; steps and logins of everybody come by here */
#define AGAIN_MS 5

/* Until the directory is closed; or not at all, if that takes too long. */
static int lock(int jobs)
{
	int waited = 0;

	while (flock(jobs, LOCK_EX | LOCK_NB)) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || waited >= WAIT_MS)
			return -1;
		poll(NULL, 0, AGAIN_MS);
		waited += AGAIN_MS;
	}
	return 0;
}

static void name_of(char name[48], uint32_t job, uid_t uid)
{
	snprintf(name, 48, "%u-%u", uid, job);
}

void sweep_note(uint32_t job, uid_t uid)
{
	int jobs, mark;
	char name[48];

	if (!uid)
		return; /* what is root's may be the node's own */
	mkdir("/run/penstock", 0755);
	mkdir(JOBS, 0700);
	jobs = open(JOBS, DIRECTORY);
	if (jobs < 0)
		return;
	lock(jobs); /* who did not get it could lose memory that is a moment old, and not a mark */
	name_of(name, job, uid);
	mark = openat(jobs, name, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (mark >= 0)
		close(mark);
	close(jobs);
}

static bool has_others(int jobs, uid_t uid)
{
	DIR *all = fdopendir(openat(jobs, ".", DIRECTORY));
	bool others = !all; /* who cannot be asked may say yes */
	char begin[16];

	snprintf(begin, sizeof(begin), "%u-", uid);
	for (struct dirent *one; all && !others && (one = readdir(all));)
		others = !strncmp(one->d_name, begin, strlen(begin));
	if (all)
		closedir(all);
	return others;
}

/* Whether a program began with this variable, among at most so many bytes. */
static bool began_with(int process, const char *variable)
{
	int file = openat(process, "environ", O_RDONLY | O_CLOEXEC);
	size_t size = 1 << 18, length = strlen(variable) + 1;
	char *text = malloc(size), *at = text;
	ssize_t got = file < 0 || !text ? 0 : read(file, text, size - 1);
	bool found = false;

	while (got > 0 && !found && at + length <= text + got) {
		found = !memcmp(at, variable, length);
		at = memchr(at, '\0', (size_t)(text + got - at));
		if (!at++)
			break;
	}
	free(text);
	if (file >= 0)
		close(file);
	return found;
}

static bool is_left(int process, const char *variable, uid_t uid)
{
	struct stat is;

	return !fstat(process, &is) && is.st_uid == uid && began_with(process, variable);
}

/* 0: there is none of that number, or it is somebody else's; 1: it was ended; -1: it does not end. */
static int end_one(int proc, const char *number, const char *variable, uid_t uid)
{
	int handle = pidfd_open(atoi(number), 0), process = openat(proc, number, DIRECTORY), ended = 0;
	struct pollfd one = {.fd = handle, .events = POLLIN};

	/* The handle came first: it cannot be of a process that took the number afterwards. */
	if (handle >= 0 && process >= 0 && is_left(process, variable, uid)) {
		pidfd_send_signal(handle, SIGKILL, NULL, 0);
		ended = poll(&one, 1, LAST_MS) == 1 ? 1 : -1;
	}
	if (process >= 0)
		close(process);
	if (handle >= 0)
		close(handle);
	return ended;
}

/* How many were ended, or -1. */
static int end_all(const char *variable, uid_t uid)
{
	DIR *proc = opendir("/proc");
	int count = proc ? 0 : -1;

	for (struct dirent *one; count >= 0 && (one = readdir(proc));) {
		int ended = one->d_name[0] >= '1' && one->d_name[0] <= '9' ? end_one(dirfd(proc), one->d_name, variable, uid) : 0;

		count = ended < 0 ? -1 : count + ended;
	}
	if (proc)
		closedir(proc);
	return count;
}

static int end_programs(uint32_t job, uid_t uid)
{
	char variable[48];
	int ended = 1;

	snprintf(variable, sizeof(variable), "SLURM_JOB_ID=%u", job);
	for (int round = 0; ended > 0 && round < ROUNDS; round++)
		ended = end_all(variable, uid);
	return ended ? -1 : 0;
}

/* A job that begins meanwhile waits, so that nobody's memory goes who has just come. */
static int forget(int jobs, const char *name, uid_t uid)
{
	if (lock(jobs) || (unlinkat(jobs, name, 0) && errno != ENOENT))
		return -1;
	return has_others(jobs, uid) ? 0 : memory_remove(uid);
}

static int sweep(int jobs, uint32_t job, uid_t uid)
{
	char name[48];
	int left;

	name_of(name, job, uid);
	if (faccessat(jobs, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -1;
	/* Without the lock: looking at a program may take as long as its user likes. */
	left = end_programs(job, uid);
	return left | forget(jobs, name, uid);
}

int sweep_job(uint32_t job, uid_t uid)
{
	int jobs = open(JOBS, DIRECTORY), left;

	if (jobs < 0)
		return errno == ENOENT ? 0 : -1; /* nobody was ever noted here */
	left = sweep(jobs, job, uid);
	close(jobs);
	return left;
}

int sweep_number(uint32_t job)
{
	DIR *jobs = opendir(JOBS);
	char end[16];
	int left = 0;

	if (!jobs)
		return errno == ENOENT ? 0 : -1;
	snprintf(end, sizeof(end), "-%u", job);
	for (struct dirent *one; (one = readdir(jobs));) {
		const char *number = strchr(one->d_name, '-');

		if (number && !strcmp(number, end))
			left |= sweep_job(job, (uid_t)strtoul(one->d_name, NULL, 10));
	}
	closedir(jobs);
	return left;
}

/* Of root's programs only: others' could keep everybody's jobs waiting. */
static void arguments(int process, char *text, size_t size)
{
	struct stat is;
	int file = fstat(process, &is) || is.st_uid ? -1 : openat(process, "cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? 0 : read(file, text, size - 1);

	text[got > 0 ? got : 0] = '\0';
	if (file >= 0)
		close(file);
}

/* slurmstepd says in its arguments whose it is; the step without tasks may be here before the job begins. */
static bool is_step(int proc, const char *number, const char *begin)
{
	int process = openat(proc, number, DIRECTORY);
	char text[64];

	if (process < 0)
		return false;
	arguments(process, text, sizeof(text));
	close(process);
	return !strncmp(text, begin, strlen(begin)) && strncmp(text + strlen(begin), "extern", 6);
}

bool sweep_is_at_work(uint32_t job)
{
	DIR *proc = opendir("/proc");
	bool found = !proc; /* who cannot be asked may say yes */
	char begin[48];

	snprintf(begin, sizeof(begin), "slurmstepd: [%u.", job);
	for (struct dirent *one; proc && !found && (one = readdir(proc));)
		found = one->d_name[0] >= '1' && one->d_name[0] <= '9' && is_step(dirfd(proc), one->d_name, begin);
	if (proc)
		closedir(proc);
	return found;
}
