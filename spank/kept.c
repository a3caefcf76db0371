#define _GNU_SOURCE
#include "kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int node_mounts = -1, node_root = -1;

void kept_remember(void)
{
	node_mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	node_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A tree goes from whoever makes it, in a mount namespace of its own, to slurmstepd. */
union letter {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(int))];
};

int kept_send(int talk, int tree)
{
	union letter letter = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec one = {.iov_base = "", .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &one, .msg_iovlen = 1, .msg_control = letter.space, .msg_controllen = sizeof(letter.space),
	};

	memcpy(CMSG_DATA(&letter.head), &tree, sizeof(tree));
	return sendmsg(talk, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int kept_receive(int talk)
{
	union letter letter = {0};
	char byte;
	struct iovec one = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &one, .msg_iovlen = 1, .msg_control = letter.space, .msg_controllen = sizeof(letter.space),
	};
	int tree = -1;

	if (recvmsg(talk, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == 1 && letter.head.cmsg_type == SCM_RIGHTS)
		memcpy(&tree, CMSG_DATA(&letter.head), sizeof(tree));
	return tree;
}

/* slurmstepd has mounts of its own; what shall outlive it is mounted where slurmd sees it. */
static int go_to_node(void)
{
	return setns(node_mounts, CLONE_NEWNS) || fchdir(node_root) || chroot(".");
}

void kept_job(char name[KEPT_JOB_LONGEST], uint32_t job, uid_t uid)
{
	snprintf(name, KEPT_JOB_LONGEST, "job-%u-%u", job, uid);
}

static int open_files(const char *job, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), KEPT "/%s/%s/" KEPT_FILES, job, name);
	return open(path, DIRECTORY);
}

static int attach(const char *job, const char *name, int tree)
{
	int files = open_files(job, name);

	return files < 0 || move_mount(tree, "", files, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/* A directory that nothing is mounted at is what a node left that has ended since. */
static int copy(const char *job, const char *name)
{
	int files = open_files(job, name);
	struct statfs on;

	if (files < 0 || fstatfs(files, &on))
		return -1;
	if (on.f_type != OVERLAYFS_SUPER_MAGIC) {
		errno = ENOENT;
		return -1;
	}
	return open_tree(files, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

/* Of a child: attaches a tree, if there is one, and sends a copy of what is there. Ends with errno. */
static void serve(int talk, const char *job, const char *name, int tree)
{
	int copied = -1;

	if (!go_to_node() && (tree < 0 || !attach(job, name, tree)))
		copied = copy(job, name);
	_exit(copied < 0 || kept_send(talk, copied) ? errno : 0);
}

int kept_files(uint32_t job, uid_t uid, const char *name, int tree)
{
	char whose[KEPT_JOB_LONGEST];
	int talk[2], status = 0, copied = -1;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk))
		return -1;
	kept_job(whose, job, uid);
	child = fork();
	if (!child)
		serve(talk[1], whose, name, tree);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child > 0 && !status)
		copied = kept_receive(talk[0]);
	close(talk[0]);
	close(talk[1]);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	return copied;
}

static int gone(int failed)
{
	return failed && errno != ENOENT ? -1 : 0;
}

static int let_go(int job, const char *name)
{
	int place = openat(job, name, DIRECTORY), left;
	char path[64];

	if (place < 0)
		return gone(-1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/" KEPT_FILES, place);
	umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW); /* what is still mounted there does not go in the next line */
	left = gone(unlinkat(place, KEPT_FILES, AT_REMOVEDIR)) | gone(unlinkat(place, KEPT_VARIABLES, 0));
	close(place);
	return left | gone(unlinkat(job, name, AT_REMOVEDIR));
}

static int let_go_all(int rooms, const char *job)
{
	int place = openat(rooms, job, DIRECTORY), left = 0;
	DIR *all = place < 0 ? NULL : fdopendir(place);

	if (!all)
		return gone(-1); /* most jobs have none */
	for (struct dirent *entry; (entry = readdir(all));)
		if (entry->d_name[0] != '.')
			left |= let_go(dirfd(all), entry->d_name);
	closedir(all);
	return left | gone(unlinkat(rooms, job, AT_REMOVEDIR));
}

int kept_sweep(uint32_t job, uid_t uid)
{
	int rooms = open(KEPT, DIRECTORY), left;
	char name[KEPT_JOB_LONGEST];

	if (rooms < 0)
		return gone(-1);
	kept_job(name, job, uid);
	left = let_go_all(rooms, name);
	close(rooms);
	return left;
}

int kept_sweep_number(uint32_t job)
{
	DIR *rooms = opendir(KEPT);
	char begin[KEPT_JOB_LONGEST];
	int left = 0;

	if (!rooms)
		return gone(-1);
	snprintf(begin, sizeof(begin), "job-%u-", job);
	for (struct dirent *entry; (entry = readdir(rooms));)
		if (!strncmp(entry->d_name, begin, strlen(begin)))
			left |= let_go_all(dirfd(rooms), entry->d_name);
	closedir(rooms);
	return left;
}
