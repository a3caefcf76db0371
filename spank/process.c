#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAST_MS 5000 /* a keeper's end takes a millisecond; what takes longer hangs in the kernel, and Slurm tells */

struct report {
	pid_t keeper; /* or 0, when this is about the furnishing */
	struct refusal why;
};

int thread_becomes(uid_t uid, gid_t gid)
{
	if (uid && syscall(SYS_setresgid, -1, gid, -1))
		return -1;
	if (syscall(SYS_setresuid, -1, uid, -1))
		return -1;
	return !uid && syscall(SYS_setresgid, -1, gid, -1) ? -1 : 0;
}

static void tell(int talk, pid_t keeper, const struct refusal *why)
{
	struct report report = {.keeper = keeper, .why = *why};

	/* Whoever does not hear it is gone, and then nobody needs this room. */
	if (send(talk, &report, sizeof(report), MSG_NOSIGNAL) != sizeof(report))
		_exit(1);
}

/* Pid 1: whatever is left over in the room becomes its child, and is forgotten when it ends. */
static void keep(void)
{
	prctl(PR_SET_NAME, "penstock-keeper");
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGCHLD, SIG_IGN);
	close_range(0, ~0U, 0);
	for (;;)
		pause();
}

/* Of the builder; a room without pids of its own needs nobody once somebody holds its namespace. */
static void furnish_and_stay(int kinds, int talk, furnishing *furnish, void *what)
{
	struct refusal why = {0};
	char end;

	if (!furnish(what, &why) && kinds & CLONE_NEWPID && prctl(PR_SET_PDEATHSIG, SIGKILL))
		refuse(&why, W_PROCESS, errno, "the keeper of the room");
	tell(talk, 0, &why);
	if (why.code != W_NONE || !(kinds & CLONE_NEWPID))
		(void)!read(talk, &end, 1);
	else
		keep();
}

static void build(int kinds, int talk, furnishing *furnish, void *what)
{
	struct refusal why = {0};
	pid_t keeper = 0;

	if (thread_becomes(0, 0) || unshare(kinds))
		refuse(&why, W_NAMESPACE, errno, "new namespaces");
	/* A sibling rather than a child, so that slurmstepd is the keeper's parent when this process ends. */
	else if (kinds & CLONE_NEWPID && (keeper = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)) < 0)
		refuse(&why, W_PROCESS, errno, "the keeper of the room");
	if (why.code != W_NONE || keeper > 0)
		tell(talk, keeper > 0 ? keeper : 0, &why);
	else
		furnish_and_stay(kinds, talk, furnish, what);
	_exit(0);
}

static int hear(int talk, struct room *room, struct refusal *why)
{
	bool furnished = false;

	while (!furnished || (room->kinds & CLONE_NEWPID && !room->keeper)) {
		struct report report;
		ssize_t size = recv(talk, &report, sizeof(report), 0);

		if (size < 0 && errno == EINTR)
			continue;
		if (size != sizeof(report))
			return refuse(why, W_PROCESS, size < 0 ? errno : 0, "whoever furnished the room is gone");
		if (report.why.code != W_NONE) {
			*why = report.why;
			return -1;
		}
		furnished |= !report.keeper;
		room->keeper = report.keeper ? report.keeper : room->keeper;
	}
	return 0;
}

static int hold(struct room *room, pid_t builder, struct refusal *why)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)builder);
	room->outside = open("/proc/thread-self/ns/pid", O_RDONLY | O_CLOEXEC);
	room->inside = room->keeper ? pidfd_open(room->keeper, 0) : open(path, O_RDONLY | O_CLOEXEC);
	if (room->outside < 0 || room->inside < 0)
		return refuse(why, W_NAMESPACE, errno, "holding the room");
	return 0;
}

int room_make(struct room *room, int kinds, furnishing *furnish, void *what, struct refusal *why)
{
	int talk[2];
	pid_t builder;

	*room = (struct room){.kinds = kinds, .inside = -1, .outside = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk))
		return refuse(why, W_PROCESS, errno, "talking to whoever furnishes the room");
	builder = fork();
	if (!builder) {
		close(talk[0]);
		build(kinds, talk[1], furnish, what);
	}
	close(talk[1]);
	if (builder < 0)
		refuse(why, W_PROCESS, errno, "whoever furnishes the room");
	else if (!hear(talk[0], room, why))
		hold(room, builder, why);
	close(talk[0]);
	while (builder > 0 && waitpid(builder, NULL, 0) < 0 && errno == EINTR)
		;
	if (why->code != W_NONE)
		room_end(room);
	return why->code == W_NONE ? 0 : -1;
}

int room_bear(const struct room *room, struct refusal *why)
{
	if (room->keeper && setns(room->inside, CLONE_NEWPID))
		return refuse(why, W_NAMESPACE, errno, "processes of the room");
	return 0;
}

void room_rest(const struct room *room)
{
	if (room->keeper)
		setns(room->outside, CLONE_NEWPID);
}

int room_enter(const struct room *room, struct refusal *why)
{
	int kinds = room->kinds & ~CLONE_NEWPID;

	/* Whoever was born in the room cannot see its parent, slurmstepd. */
	if (room->keeper && getppid())
		return refuse(why, W_PROCESS, 0, "the task was not born in the room");
	if (setns(room->inside, kinds))
		return refuse(why, W_NAMESPACE, errno, "entering the room");
	return 0;
}

/* By its descriptor: slurmstepd waits for any child, so the number may be somebody else's already. */
static void end_keeper(const struct room *room)
{
	struct pollfd keeper = {.fd = room->inside, .events = POLLIN};

	if (room->inside < 0) {
		kill(room->keeper, SIGKILL); /* nobody can have waited for it yet */
		waitpid(room->keeper, NULL, 0);
		return;
	}
	pidfd_send_signal(room->inside, SIGKILL, NULL, 0);
	poll(&keeper, 1, LAST_MS);
	waitid(P_PIDFD, (id_t)room->inside, NULL, WEXITED | WNOHANG);
}

void room_end(struct room *room)
{
	if (room->keeper)
		end_keeper(room);
	if (room->inside >= 0)
		close(room->inside);
	if (room->outside >= 0)
		close(room->outside);
	*room = (struct room){.inside = -1, .outside = -1};
}
