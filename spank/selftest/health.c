#define _GNU_SOURCE
#include "health.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../proof.h"
#include "node.h"
#include "slurm.h"
#include "trial.h"

/* All in milliseconds. */
#define LOOKING 20000   /* the most that a look may take; slurmd ends us after 60 s */
#define AT_ONCE 50      /* a new node is known to Slurm a moment after we return; then the pauses grow */
#define LATER 1000      /* that all is well can wait until slurmd has begun */
#define AGAIN 5000      /* between two looks at a node whose walls do not hold */
#define SELDOM 60000    /* Slurm says nothing of a node in no partition */
#define WATCHING 600000 /* then the next health check goes on */

/* What a child has found, in memory that is shared with it. */
struct look {
	struct findings findings;
	bool tenants;
};

struct verdict {
	struct proof proof;
	bool drains; /* walls do not hold, and somebody needs them */
};

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static long least(long one, long other)
{
	return one < other ? one : other;
}

static void pause_ms(long duration)
{
	struct timespec left = {.tv_sec = duration / 1000, .tv_nsec = duration % 1000 * 1000000};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static bool is_called(const struct finding *one, const char *name)
{
	return !strcmp(one->name, name);
}

/*
 * The first finding that failed, and concerns the node: a uid's own policy is between that uid and the plugin. Where no
 * tenant may come, the node is drained for the policies of everybody only. It is told to tenants all the same, who may
 * be allowed to come at any time.
 */
static const struct finding *worst_of(const struct look *look)
{
	const struct finding *worst = NULL;

	for (size_t i = 0; i < look->findings.count; i++) {
		const struct finding *one = &look->findings.all[i];

		if (one->ok || is_called(one, UIDS_FINDING))
			continue;
		if (!worst || (!look->tenants && is_called(one, POLICIES_FINDING)))
			worst = one;
	}
	return worst;
}

static void judge(const struct look *look, struct verdict *verdict)
{
	bool readable = look->findings.count && look->findings.count <= sizeof(look->findings.all) / sizeof(*look->findings.all);
	const struct finding *worst = readable ? worst_of(look) : NULL;

	verdict->proof.holds = readable && !worst;
	verdict->drains = !readable || (worst && (look->tenants || is_called(worst, POLICIES_FINDING)));
	if (worst)
		snprintf(verdict->proof.words, sizeof(verdict->proof.words), "%s: %s", worst->name, worst->words);
	else if (!readable)
		snprintf(verdict->proof.words, sizeof(verdict->proof.words), "selftest: found too much, or nothing");
}

static void look_around(struct look *look, const char *policies)
{
	alarm(LOOKING / 1000);
	look->tenants = node_look(&look->findings, policies);
	trial(&look->findings);
	_exit(0);
}

/* In a process of its own: whatever becomes of it, there is a verdict. */
static void look(const char *policies, struct verdict *verdict)
{
	struct look *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = shared == MAP_FAILED ? -1 : fork();
	int status = -1;

	*verdict = (struct verdict){0};
	if (!child)
		look_around(shared, policies);
	if (child > 0 && waitpid(child, &status, 0) == child && !status) {
		judge(shared, verdict);
	} else {
		verdict->drains = true;
		snprintf(verdict->proof.words, sizeof(verdict->proof.words), "selftest: ended with %d", status);
	}
	if (shared != MAP_FAILED)
		munmap(shared, sizeof(*shared));
}

static int look_and_keep(const char *policies, struct verdict *verdict)
{
	look(policies, verdict);
	return proof_write(&verdict->proof);
}

/* Brings Slurm to know, and looks again while walls do not hold: who mends them need not wait for the next check. */
static void watch(const char *node, const char *policies, struct verdict *verdict)
{
	long end = now_ms() + WATCHING, looked = now_ms(), pause = verdict->drains ? AT_ONCE : LATER;

	while (now_ms() < end) {
		bool told;

		pause_ms(pause);
		if (now_ms() >= looked + AGAIN) {
			look_and_keep(policies, verdict);
			looked = now_ms();
		}
		told = !(verdict->drains ? slurm_drain(node, verdict->proof.words) : slurm_undrain(node));
		if (told && !verdict->drains) {
			verdict->proof.told = true;
			proof_write(&verdict->proof);
			return;
		}
		pause = told ? AGAIN : least(2 * pause, verdict->drains ? AGAIN : SELDOM);
	}
}

/*
 * Goes on behind slurmd's back, which ends all that is in the group of the program when that ends. Without a verdict it
 * looks first.
 */
static int watch_apart(const char *node, const char *policies, struct verdict *verdict)
{
	struct verdict first;
	int ends[2], nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t child;
	char byte;

	if (nothing < 0 || pipe2(ends, O_CLOEXEC) || (child = fork()) < 0)
		return -1;
	if (!child) {
		/* slurmd waits for the end of what we say. */
		if (setsid() < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0)
			_exit(1);
		close(ends[0]);
		close(ends[1]);
		if (!verdict)
			look_and_keep(policies, verdict = &first);
		watch(node, policies, verdict);
		_exit(0);
	}
	close(ends[1]);
	(void)!read(ends[0], &byte, 1); /* until it is apart */
	return 0;
}

/* slurmd logs what is said by a program that fails. */
static int complain(const char *words)
{
	printf("penstock: the walls of this node do not hold: %s\n", words);
	return 1;
}

/*
 * slurmd has just begun, and registers only when we return: a look would make every worker late by some tens of
 * milliseconds. Until there is a verdict, steps of tenants wait for it.
 */
static int begin(const char *node, const char *policies)
{
	if (!proof_begin() && !watch_apart(node, policies, NULL))
		return 0;
	fprintf(stderr, "penstock-walls health: nobody can look: %s\n", strerror(errno));
	return 1;
}

static int check(const char *node, const char *policies, const struct proof *before)
{
	struct verdict verdict;

	look(policies, &verdict);
	verdict.proof.told = before->told && !verdict.drains;
	if (proof_write(&verdict.proof))
		fprintf(stderr, "penstock-walls health: what was found cannot be kept: %s\n", strerror(errno));
	if (!verdict.proof.told && watch_apart(node, policies, &verdict))
		fprintf(stderr, "penstock-walls health: Slurm cannot be told: %s\n", strerror(errno));
	return verdict.drains ? complain(verdict.proof.words) : 0;
}

int health(const char *policies)
{
	const char *node = getenv("SLURMD_NODENAME");
	struct proof before;

	if (!node || !*node) {
		fputs("penstock-walls health: SLURMD_NODENAME is not set; slurmd runs this as HealthCheckProgram\n", stderr);
		return 2;
	}
	if (proof_lock() < 0 && errno == EWOULDBLOCK) /* one that watches looks as often as we do, or more */
		return proof_read(&before) > 0 && (before.holds || before.told) ? 0 : complain(before.words);
	return proof_read(&before) ? check(node, policies, &before) : begin(node, policies);
}
