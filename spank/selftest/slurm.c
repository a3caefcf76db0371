#define _GNU_SOURCE
#include "slurm.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 10 /* seconds for an answer; Slurm's commands may try for minutes */

/* Of the node as Slurm knows it. */
struct shown {
	bool down, drains, ours;
	char reason[512];
};

static void become(char *const words[], int output)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(output, 1) < 0 || dup2(nothing, 2) < 0)
		_exit(127);
	alarm(PATIENCE); /* goes over to the program */
	execvp(words[0], words);
	_exit(127);
}

/* Runs a program without a shell; what it says ends up in `text`, as far as it fits. */
static int run(char *const words[], char *text, size_t size)
{
	char part[512];
	size_t length = 0;
	int ends[2], status = -1;
	ssize_t got;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	child = fork();
	if (!child)
		become(words, ends[1]);
	close(ends[1]);
	while ((got = read(ends[0], part, sizeof(part))) > 0)
		if ((size_t)got < size - length) {
			memcpy(text + length, part, (size_t)got);
			length += (size_t)got;
		}
	text[length] = '\0';
	close(ends[0]);
	return child > 0 && waitpid(child, &status, 0) == child && !status ? 0 : -1;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/*
 * A line for each partition, all alike: the state in one word, then the reason. It says nothing of a node that Slurm
 * does not know, and of one in no partition, which takes no jobs. scontrol would fetch all nodes to show one.
 */
static int ask(const char *node, struct shown *shown)
{
	char text[4096], *words[] = {"sinfo", "-h", "-a", "-N", "-n", (char *)node, "-o", "%T %E", NULL}, *reason;

	*shown = (struct shown){0};
	if (run(words, text, sizeof(text)) || !(reason = strchr(text, ' ')))
		return -1;
	*reason++ = '\0';
	snprintf(shown->reason, sizeof(shown->reason), "%.*s", (int)strcspn(reason, "\n"), reason);
	shown->down = begins(text, "down");
	shown->drains = begins(text, "drain") || begins(text, "fail");
	/* 24.11 leaves the reason of a drain that is over. */
	shown->ours = shown->drains && begins(shown->reason, REASON);
	return 0;
}

static int update(const char *node, const char *state, const char *reason)
{
	char name[288], new[64], why[512], said[256];
	char *words[] = {"scontrol", "update", name, new, reason ? why : NULL, NULL};

	snprintf(name, sizeof(name), "NodeName=%.256s", node);
	snprintf(new, sizeof(new), "State=%s", state);
	/* scontrol takes one pair of quotes off. */
	snprintf(why, sizeof(why), "Reason=\"%s\"", reason ? reason : "");
	return run(words, said, sizeof(said));
}

int slurm_drain(const char *node, const char *words)
{
	char reason[384];
	struct shown is;

	snprintf(reason, sizeof(reason), REASON "%s", words);
	/* A node that is down takes no jobs, and its reason is somebody's; it may come up at any time. */
	if (ask(node, &is) || is.down)
		return -1;
	if (is.drains && (!is.ours || !strcmp(is.reason, reason)))
		return 0;
	return update(node, "DRAIN", reason);
}

int slurm_undrain(const char *node)
{
	struct shown is;

	if (ask(node, &is))
		return -1;
	/* Not RESUME, which would bring up a node that is down, too. */
	return is.ours ? update(node, "UNDRAIN", NULL) : 0;
}
