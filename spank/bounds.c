#define _GNU_SOURCE
#include "bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CGROUPS "/sys/fs/cgroup"

static cpu_set_t processors;
static char groups[4096]; /* /proc/PID/cgroup of the task that was noted last */

static void read_groups(pid_t process, char *text, size_t size)
{
	char path[64];
	ssize_t length = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, text, size - 1);
		close(fd);
	}
	text[length > 0 ? length : 0] = '\0';
}

void bounds_note(pid_t task)
{
	cpu_set_t some;

	if (!sched_getaffinity(task, sizeof(some), &some))
		CPU_OR(&processors, &processors, &some);
	read_groups(task, groups, sizeof(groups));
}

/* ID:CONTROLLERS:PATH; version 2 has neither number nor controllers. 0 is the process that writes it. */
static int enter_group(char *line, struct refusal *why)
{
	char path[PATH_MAX], *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
	int fd, entered;

	if (!group)
		return refuse(why, W_PROCESS, 0, "the cgroup of a task: %.128s", line);
	*group++ = '\0';
	controllers += !strncmp(controllers, ":name=", 6) ? 6 : 1;
	snprintf(path, sizeof(path), CGROUPS "/%s%s/cgroup.procs", controllers, group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	entered = fd >= 0 && write(fd, "0", 1) == 1;
	if (!entered)
		refuse(why, W_PROCESS, errno, "the cgroup %.256s", path);
	if (fd >= 0)
		close(fd);
	return entered ? 0 : -1;
}

/* Hierarchies stand in the same order for every process. Without cgroups of Slurm's a task is where slurmstepd is. */
static int enter_groups(struct refusal *why)
{
	char own[sizeof(groups)], *its = groups, *ours = own, *line;

	read_groups(getpid(), own, sizeof(own));
	while ((line = strsep(&its, "\n"))) {
		const char *is = strsep(&ours, "\n");

		if (*line && (!is || strcmp(is, line)) && enter_group(line, why))
			return -1;
	}
	return 0;
}

int bounds_enter(struct refusal *why)
{
	if (enter_groups(why))
		return -1;
	if (CPU_COUNT(&processors) && sched_setaffinity(0, sizeof(processors), &processors))
		return refuse(why, W_PROCESS, errno, "the processors of the step");
	return 0;
}

int bounds_processors(void)
{
	return CPU_COUNT(&processors);
}
