#define _GNU_SOURCE
#include "node_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* slurmstepd has slurmd's variables, and none of the job's. */
#define SLURMD "PENSTOCK_SLURMD_PID"

static int node_log = -1;

void node_log_announce(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv(SLURMD, pid, 1);
}

void node_log_open(void)
{
	const char *pid = getenv(SLURMD);
	char path[64];

	if (!pid || strspn(pid, "0123456789") != strlen(pid))
		return;
	snprintf(path, sizeof(path), "/proc/%.10s/fd/2", pid);
	/* A log that nobody reads must not hold a step. */
	node_log = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void node_log_say(const char *line)
{
	struct iovec parts[] = {{(void *)line, strlen(line)}, {"\n", 1}};

	if (node_log >= 0)
		(void)!writev(node_log, parts, 2);
}
