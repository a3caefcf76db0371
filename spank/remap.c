#define _GNU_SOURCE
#include "remap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine.h"
#include "filter.h"

/* Who lives in a chroot, as slurmd may, makes no such namespaces. Entering one's own mount namespace leads out of it. */
static int leave_chroot(void)
{
	int self = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	return self < 0 || setns(self, CLONE_NEWNS);
}

/* Of a child: as the user, for whoever makes a namespace can enter it. Says so by a byte, and waits for one. */
static void be_first(int talk, uid_t uid, gid_t gid)
{
	int error = 0;

	if (leave_chroot() || syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, gid, gid, gid) ||
	    syscall(SYS_setresuid, uid, uid, uid) || unshare(CLONE_NEWUSER))
		error = errno;
	if (write(talk, &error, sizeof(error)) == sizeof(error))
		(void)!read(talk, &error, 1);
	_exit(0);
}

static int put(int process, const char *name, const char *text)
{
	int fd = openat(process, name, O_WRONLY | O_CLOEXEC);
	ssize_t length = (ssize_t)strlen(text);
	int failed = fd < 0 || write(fd, text, (size_t)length) != length;

	if (fd >= 0)
		close(fd);
	return failed;
}

static int write_maps(int process, uid_t uid, gid_t gid)
{
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1\n", uid);
	snprintf(gids, sizeof(gids), "0 %u 1\n", gid);
	return put(process, "setgroups", "deny") || put(process, "uid_map", uids) || put(process, "gid_map", gids);
}

static int take(pid_t first, uid_t uid, gid_t gid)
{
	char path[32];
	int process, namespace = -1;

	snprintf(path, sizeof(path), "/proc/%d", (int)first);
	process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process < 0)
		return -1;
	if (!write_maps(process, uid, gid))
		namespace = openat(process, "ns/user", O_RDONLY | O_CLOEXEC);
	close(process);
	return namespace;
}

/* What the child could not do, or -1. */
static int hear(int talk)
{
	int error = 0;
	ssize_t got;

	while ((got = read(talk, &error, sizeof(error))) < 0 && errno == EINTR)
		;
	return got == sizeof(error) ? error : -1;
}

static int make(int talk, pid_t first, uid_t uid, gid_t gid, struct refusal *why)
{
	int error = first < 0 ? errno : hear(talk), namespace = -1;

	if (error)
		return refuse(why, W_NAMESPACE, error > 0 ? error : 0, "a user namespace");
	namespace = take(first, uid, gid);
	if (namespace < 0)
		return refuse(why, W_NAMESPACE, errno, "who is root in the user namespace");
	return namespace;
}

int remap_make(uid_t uid, gid_t gid, struct refusal *why)
{
	int talk[2], namespace;
	pid_t first;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk))
		return refuse(why, W_NAMESPACE, errno, "a user namespace");
	first = fork();
	if (!first) {
		close(talk[0]);
		be_first(talk[1], uid, gid);
	}
	close(talk[1]);
	namespace = make(talk[0], first, uid, gid, why);
	close(talk[0]);
	while (first > 0 && waitpid(first, NULL, 0) < 0 && errno == EINTR)
		;
	return namespace;
}

int remap_enter(int namespace, struct refusal *why)
{
	if (setns(namespace, CLONE_NEWUSER))
		return refuse(why, W_NAMESPACE, errno, "entering the user namespace");
	return confine_keeper(why) || filter_owners(why) ? -1 : 0;
}
