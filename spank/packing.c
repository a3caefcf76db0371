#define _GNU_SOURCE
#include "packing.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bounds.h"

#define MEMORY "256M"      /* it would take a quarter of the machine's; enough for so many processors */
#define PROCESSORS_MOST 32
#define TARGET 3           /* a descriptor: a name could be anybody's by the time it is opened */

/* Of the shared root, and never by the user's PATH. */
static const char *const programs[] = {"/usr/bin/mksquashfs", "/usr/local/bin/mksquashfs"};

#define PROGRAMS (sizeof(programs) / sizeof(*programs))

static int failed(struct refusal *why, const struct saving *saving)
{
	return refuse(why, W_SAVE, errno, "--container-save %.256s", saving->path);
}

int packing_check(struct refusal *why)
{
	for (size_t i = 0; i < PROGRAMS; i++)
		if (!access(programs[i], X_OK))
			return 0;
	return refuse(why, W_SAVE, 0,
		      "--container-save needs mksquashfs in the shared root: squashfs-tools is to be installed there");
}

/* As a program expects them. Warnings that the job's time runs out are for tasks, and would end it. */
static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* slurmstepd must not be chosen when memory runs out; who packs may be. */
static int be_killable(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	int wrong = fd < 0 || write(fd, "0", 1) != 1;

	if (fd >= 0)
		close(fd);
	return wrong;
}

/* The last one: nobody packs without a slurmstepd that waits for it. */
static int become(const struct saving *saving, struct refusal *why)
{
	if (syscall(SYS_setgroups, saving->group_count, saving->groups) ||
	    syscall(SYS_setresgid, saving->gid, saving->gid, saving->gid) ||
	    syscall(SYS_setresuid, saving->uid, saving->uid, saving->uid) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		return refuse(why, W_CONFINE, errno, "becoming uid %u", saving->uid);
	return 0;
}

/* Of a child; says what went wrong before a program began. */
static void be_user(const struct saving *saving, packing_work *work, int talk)
{
	struct refusal why = {0};

	reset_signals();
	setsid();
	talk = fcntl(talk, F_DUPFD_CLOEXEC, TARGET + 1);
	if (be_killable())
		failed(&why, saving);
	else if (!bounds_enter(&why) && !room_enter(&saving->room, &why) && !become(saving, &why))
		work(saving, &why);
	if (why.code != W_NONE)
		(void)!write(talk, &why, sizeof(why));
	_exit(why.code != W_NONE);
}

/* Until the program begins, or the child ends without one. */
static void hear(int talk, struct refusal *why)
{
	struct refusal said;
	ssize_t got;

	while ((got = read(talk, &said, sizeof(said))) < 0 && errno == EINTR)
		;
	if (got == sizeof(said))
		*why = said;
}

static int judge(const struct saving *saving, int status, struct refusal *why)
{
	if (WIFSIGNALED(status))
		return refuse(why, W_SAVE, 0, "--container-save %.256s: packing was ended by signal %d", saving->path,
			      WTERMSIG(status));
	if (status)
		return refuse(why, W_SAVE, 0, "--container-save %.256s: mksquashfs failed, and says why above",
			      saving->path);
	return 0;
}

int packing_run(const struct saving *saving, packing_work *work, struct refusal *why)
{
	int talk[2], status = 0;
	pid_t child;

	if (pipe2(talk, O_CLOEXEC))
		return failed(why, saving);
	child = fork();
	if (!child)
		be_user(saving, work, talk[1]);
	close(talk[1]);
	if (child < 0)
		failed(why, saving);
	else
		hear(talk[0], why);
	close(talk[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return why->code == W_NONE ? judge(saving, status, why) : -1;
}

/* Nothing, nothing, the user's stderr, and the file; no other descriptor goes along. */
static int arrange(const struct saving *saving)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	int file = openat(saving->directory, saving->temporary, PACKING_NEW, 0666);

	if (nothing < 0 || file < 0 || fchdir(saving->tree))
		return -1;
	if (file == TARGET)
		file = dup(file); /* dup2 onto itself would leave it to be closed */
	return dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 || dup2(file, TARGET) < 0 ||
	       close_range(TARGET + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

int packing_pack(const struct saving *saving, struct refusal *why)
{
	int most = bounds_processors();
	char processors[16], file[32];
	char *words[] = {
		"mksquashfs", ".", file, "-noappend", "-all-root", "-no-xattrs", "-no-progress", "-quiet",
		"-comp", "zstd", "-Xcompression-level", "3", "-mem", MEMORY, "-processors", processors, NULL,
	};
	char *variables[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", (char *)saving->job, NULL};

	snprintf(processors, sizeof(processors), "%d", most < 1 ? 1 : most < PROCESSORS_MOST ? most : PROCESSORS_MOST);
	snprintf(file, sizeof(file), "/proc/self/fd/%d", TARGET);
	if (arrange(saving))
		return failed(why, saving);
	for (size_t i = 0; i < PROGRAMS; i++)
		execve(programs[i], words, variables);
	return refuse(why, W_SAVE, errno, "--container-save %.256s: mksquashfs", saving->path);
}

static void beside(char name[NAME_MAX + 1], const char *file)
{
	snprintf(name, NAME_MAX + 1, "%s" VARIABLES_BESIDE, file);
}

static int write_variables(const struct saving *saving, const char *name)
{
	int file = openat(saving->directory, name, PACKING_NEW, 0666);
	int wrong = file < 0 || write(file, saving->variables, saving->length) != (ssize_t)saving->length || fsync(file);

	if (file >= 0)
		close(file);
	return wrong;
}

/* A node that dies now must not leave a name without what is in the file. */
static int flush(const struct saving *saving)
{
	int file = openat(saving->directory, saving->temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int wrong = file < 0 || fsync(file);

	if (file >= 0)
		close(file);
	return wrong;
}

int packing_finish(const struct saving *saving, struct refusal *why)
{
	char temporary[NAME_MAX + 1], variables[NAME_MAX + 1];
	int at = saving->directory;

	beside(temporary, saving->temporary);
	beside(variables, saving->name);
	if ((saving->length && write_variables(saving, temporary)) || flush(saving) ||
	    renameat(at, saving->temporary, at, saving->name))
		return failed(why, saving);
	/* Variables of what lay there before are not this one's. */
	if (saving->length ? renameat(at, temporary, at, variables) : unlinkat(at, variables, 0) && errno != ENOENT)
		return failed(why, saving);
	return 0;
}

int packing_tidy(const struct saving *saving, struct refusal *why)
{
	char temporary[NAME_MAX + 1];
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL); /* whatever ended the packing may come again */
	beside(temporary, saving->temporary);
	if ((unlinkat(saving->directory, saving->temporary, 0) && errno != ENOENT) ||
	    (unlinkat(saving->directory, temporary, 0) && errno != ENOENT))
		return failed(why, saving);
	return 0;
}
