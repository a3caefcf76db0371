/* One more process of a step goes where its tasks are, in each version of cgroups, and nowhere else. */
#define _GNU_SOURCE
#include "../bounds.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define CGROUPS "/sys/fs/cgroup"

static void lay(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK_FOR(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) && !close(file), path);
}

/* The files by which a kernel would move processes. */
static void make_group(const char *group)
{
	char path[256];

	snprintf(path, sizeof(path), CGROUPS "%s/cgroup.procs", group);
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	lay(path, "");
}

static bool entered(const char *group)
{
	char path[256], text[4] = "";
	int file;

	snprintf(path, sizeof(path), CGROUPS "%s/cgroup.procs", group);
	file = open(path, O_RDONLY);
	CHECK_FOR(file >= 0 && read(file, text, sizeof(text) - 1) >= 0 && !close(file), path);
	return !strcmp(text, "0");
}

/* Has the kernel's file about a process say something else, in this mount namespace. */
static void pretend(pid_t process, const char *groups)
{
	char path[64], file[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)process);
	snprintf(file, sizeof(file), "/run/of-%d", (int)process);
	lay(file, groups);
	CHECK_FOR(!mount(file, path, NULL, MS_BIND, NULL), path);
}

static pid_t idle(void)
{
	pid_t child = fork();

	if (!child)
		for (;;)
			pause();
	return child;
}

/* Whether it went well, as told by the process that entered. */
static bool enters(const char *its, const char *own, const char *wrong)
{
	pid_t task = idle(), packer;
	int status = 0;

	pretend(task, its);
	bounds_note(task);
	packer = fork();
	if (!packer) {
		struct refusal why = {0};
		int failed;

		pretend(getpid(), own);
		failed = bounds_enter(&why);
		if (wrong)
			CHECK_FOR(failed && strstr(why.what, wrong), why.what);
		_exit(checked() ? 2 : failed != 0);
	}
	waitpid(packer, &status, 0);
	kill(task, SIGKILL);
	waitpid(task, NULL, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return !status;
}

static void version_1(void)
{
	make_group("/memory/slurm/job_1/step_0/task_0");
	make_group("/cpu,cpuacct/slurm/job_1/step_0/task_0");
	make_group("/systemd/slurm");
	make_group("/pids");
	CHECK(enters("9:name=systemd:/slurm\n8:pids:/\n4:memory:/slurm/job_1/step_0/task_0\n"
		     "2:cpu,cpuacct:/slurm/job_1/step_0/task_0\n0::/\n",
		     "9:name=systemd:/\n8:pids:/\n4:memory:/slurm\n2:cpu,cpuacct:/\n0::/\n", NULL));
	CHECK(entered("/memory/slurm/job_1/step_0/task_0") && entered("/cpu,cpuacct/slurm/job_1/step_0/task_0"));
	CHECK(entered("/systemd/slurm") && !entered("/pids"));
}

static void version_2(void)
{
	make_group("/stepd/job_1/step_0/user/task_0");
	CHECK(enters("0::/stepd/job_1/step_0/user/task_0\n", "0::/stepd/job_1/step_0/slurm\n", NULL));
	CHECK(entered("/stepd/job_1/step_0/user/task_0"));
}

static void without_cgroups_of_slurms(void)
{
	CHECK(enters("0::/there/is/none\n", "0::/there/is/none\n", NULL));
}

/* Outside of the step's limits nobody packs anything. */
static void whoever_cannot_enter_goes_no_further(void)
{
	CHECK(!enters("0::/there/is/none\n", "0::/there\n", "the cgroup " CGROUPS "//there/is/none/cgroup.procs"));
	CHECK(!enters("nonsense\n", "0::/there\n", "the cgroup of a task: nonsense"));
}

/* Of all of them together; nothing was noted before. */
static void processors_are_those_of_the_tasks(void)
{
	pid_t task = idle();
	cpu_set_t all, one, is;
	struct refusal why = {0};

	CHECK(!sched_getaffinity(0, sizeof(all), &all) && !bounds_processors());
	CPU_ZERO(&one);
	for (size_t number = 0; !CPU_COUNT(&one); number++)
		if (CPU_ISSET(number, &all))
			CPU_SET(number, &one);
	CHECK(!sched_setaffinity(task, sizeof(one), &one));
	bounds_note(task);
	CHECK(bounds_processors() == 1 && !bounds_enter(&why));
	CHECK(!sched_getaffinity(0, sizeof(is), &is) && CPU_EQUAL(&is, &one));
	CHECK(!sched_setaffinity(0, sizeof(all), &all));
	bounds_note(getpid());
	bounds_note(task);
	CHECK(bounds_processors() == CPU_COUNT(&all));
	kill(task, SIGKILL);
	waitpid(task, NULL, 0);
}

int main(void)
{
	processors_are_those_of_the_tasks();
	version_1();
	version_2();
	without_cgroups_of_slurms();
	whoever_cannot_enter_goes_no_further();
	return checked();
}
