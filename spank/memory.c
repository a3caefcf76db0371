#define _GNU_SOURCE
#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DEEPEST 32 /* directories in directories; deeper ones are left, and told */

union semun { /* as semctl() wants it, and no header has it */
	int value;
	struct semid_ds *state;
	struct seminfo *about;
};

/* What is gone already was not left. */
static int answer(int removed)
{
	return removed && errno != EINVAL && errno != EIDRM ? -1 : 0;
}

static int remove_segments(uid_t uid)
{
	struct shm_info about;
	struct shmid_ds is;
	int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&about), left = 0;

	for (int i = 0; i <= last; i++) {
		int id = shmctl(i, SHM_STAT, &is);

		if (id >= 0 && is.shm_perm.uid == uid)
			left |= answer(shmctl(id, IPC_RMID, NULL));
	}
	return left;
}

static int remove_queues(uid_t uid)
{
	struct msginfo about;
	struct msqid_ds is;
	int last = msgctl(0, MSG_INFO, (struct msqid_ds *)(void *)&about), left = 0;

	for (int i = 0; i <= last; i++) {
		int id = msgctl(i, MSG_STAT, &is);

		if (id >= 0 && is.msg_perm.uid == uid)
			left |= answer(msgctl(id, IPC_RMID, NULL));
	}
	return left;
}

static int remove_semaphores(uid_t uid)
{
	struct seminfo about;
	struct semid_ds is;
	int last = semctl(0, 0, SEM_INFO, (union semun){.about = &about}), left = 0;

	for (int i = 0; i <= last; i++) {
		int id = semctl(i, 0, SEM_STAT, (union semun){.state = &is});

		if (id >= 0 && is.sem_perm.uid == uid)
			left |= answer(semctl(id, 0, IPC_RMID));
	}
	return left;
}

static int remove_below(int directory, int depth);

/* By the directory that it lies in, and through no link: its owner may be at work on it. */
static int remove_one(int above, const char *name, int depth)
{
	int inner = openat(above, name, DIRECTORY), left = 0;

	if (inner >= 0)
		left = depth ? remove_below(inner, depth - 1) : -1;
	if (unlinkat(above, name, inner >= 0 ? AT_REMOVEDIR : 0) && errno != ENOENT)
		left = -1;
	return left;
}

/* Closes the directory. */
static int remove_below(int directory, int depth)
{
	DIR *all = fdopendir(directory);
	int left = 0;

	if (!all) {
		close(directory);
		return -1;
	}
	for (struct dirent *one; (one = readdir(all));)
		if (strcmp(one->d_name, ".") && strcmp(one->d_name, ".."))
			left |= remove_one(dirfd(all), one->d_name, depth);
	closedir(all);
	return left;
}

static int remove_files(uid_t uid)
{
	DIR *all = opendir("/dev/shm");
	struct stat is;
	int left = 0;

	for (struct dirent *one; all && (one = readdir(all));)
		if (strcmp(one->d_name, ".") && strcmp(one->d_name, "..") &&
		    !fstatat(dirfd(all), one->d_name, &is, AT_SYMLINK_NOFOLLOW) && is.st_uid == uid)
			left |= remove_one(dirfd(all), one->d_name, DEEPEST);
	if (all)
		closedir(all);
	return left; /* a node without the directory has no such files */
}

int memory_remove(uid_t uid)
{
	return remove_segments(uid) | remove_queues(uid) | remove_semaphores(uid) | remove_files(uid);
}
