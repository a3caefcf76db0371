/*
 * The hooks. slurmstepd prepares the step's room before it forks (user_init), each task enters it as root
 * (task_init_privileged) and gives up the rest as the user (task_init).
 *
 * slurmd drains a node whose slurmstepd fails before it has forked its tasks. So whatever goes wrong earlier is noted,
 * and the tasks are refused: they become unable to start any program, and end in the last hook, when Slurm expects
 * tasks to end. What hooks return counts only if plugstack.conf says `required`, so nothing depends on it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "asking.h"
#include "confine.h"
#include "container.h"
#include "filter.h"
#include "output.h"
#include "policies.h"
#include "process.h"
#include "shared.h"
#include "walls.h"

SPANK_PLUGIN(penstock, 1)

static const char *policies = POLICIES;
static struct refusal why;
static struct policy policy;
static struct room room = {.inside = -1, .outside = -1};
static int output = -1;
static bool prepared, own_reason;
static unsigned ended;

/* Ends a task that must not run, and says why: once for all tasks, unless this one has a reason of its own. */
static void refuse_task(spank_t spank)
{
	char line[768], name[64];
	uid_t uid = (uid_t)-1;
	int task = 0;

	spank_get_item(spank, S_JOB_UID, &uid);
	spank_get_item(spank, S_TASK_ID, &task);
	step_name(spank, name, sizeof(name));
	refusal_words(&why, line, sizeof(line));
	if (own_reason || !task)
		slurm_error("penstock: step %s of uid %u is refused: %s", name, uid, line);
	_exit(1);
}

int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
	bool options = true;

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "policy=/", 8))
			policies = argv[i] + 7;
		else if (!strcmp(argv[i], "options=no"))
			options = false;
		else
			refuse(&why, W_POLICY, 0, "plugstack.conf: unknown argument \"%.128s\"", argv[i]);
	}
	asking_register(options ? spank : NULL);
	return ESPANK_SUCCESS;
}

static int prepare_room(struct step *step)
{
	if (policy.class == CLASS_USER) {
		if (container_check(step, &why))
			return -1;
		return room_make(&room, CLONE_NEWNS, shared_furnish, step, &why);
	}
	output = output_open(&policy, &why);
	if (why.code != W_NONE || walls_check(step, &why) ||
	    room_make(&room, walls_kinds(&policy), walls_furnish, step, &why))
		return -1;
	return room_bear(&room, &why);
}

static int prepare(spank_t spank)
{
	char cwd[PATH_MAX], home[PATH_MAX];
	struct step step = {.policy = &policy, .options = asking_options(), .cwd = getcwd(cwd, sizeof(cwd)) ? cwd : "/"};

	if (spank_get_item(spank, S_JOB_UID, &step.uid) || spank_get_item(spank, S_JOB_GID, &step.gid))
		return refuse(&why, W_SLURM, 0, "Slurm does not say whose step this is");
	if (policy_of(policies, step.uid, &policy, &why))
		return -1;
	if (policy.class == CLASS_ADMIN)
		return 0;
	if (asking_environment(spank, &why) || step_script(spank, &step.script, &why))
		return -1;
	step_host(spank, step.host, sizeof(step.host));
	step.home = spank_getenv(spank, "HOME", home, sizeof(home)) ? NULL : home;
	return prepare_room(&step);
}

int slurm_spank_user_init(spank_t spank, int argc, char *argv[])
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	(void)argc;
	(void)argv;
	if (!spank_remote(spank))
		return ESPANK_SUCCESS;
	prepared = true;
	if (thread_becomes(0, 0))
		refuse(&why, W_SLURM, errno, "slurmd is not root");
	else if (why.code == W_NONE)
		prepare(spank);
	if (thread_becomes(uid, gid))
		abort(); /* a slurmstepd that cannot be the user again must not go on */
	return ESPANK_SUCCESS;
}

static void enter(void)
{
	if (room_enter(&room, &why))
		return;
	if (policy.class == CLASS_TENANT)
		confine_first(&policy, &why);
	else if (asking_options()->image && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		refuse(&why, W_CONFINE, errno, "keeping programs from gaining privileges");
}

int slurm_spank_task_init_privileged(spank_t spank, int argc, char *argv[])
{
	bool common = why.code != W_NONE;

	(void)argc;
	(void)argv;
	if (!prepared)
		refuse(&why, W_SLURM, 0, "slurmstepd did not prepare it");
	else if (!common && policy.class != CLASS_ADMIN)
		enter();
	own_reason = !common;
	if (why.code != W_NONE && filter_programs(&why))
		refuse_task(spank);
	return ESPANK_SUCCESS;
}

static int go_to_work(const char *directory)
{
	if (chdir(directory))
		return refuse(&why, W_ROOT, errno, "the working directory %.256s", directory);
	return 0;
}

static int begin_tenant(spank_t spank)
{
	const char *workdir = asking_options()->workdir ? asking_options()->workdir : policy.workdir;

	return output_check(&policy, output, &why) || go_to_work(workdir ? workdir : "/") ||
		       step_environment(spank, &policy, workdir, &why) || confine_descriptors(&why) ||
		       confine_last(&policy, &why)
	       ? -1 : 0;
}

int slurm_spank_task_init(spank_t spank, int argc, char *argv[])
{
	const struct options *options = asking_options();

	(void)argc;
	(void)argv;
	if (why.code == W_NONE && policy.class == CLASS_TENANT)
		begin_tenant(spank);
	else if (why.code == W_NONE && policy.class == CLASS_USER && options->image)
		go_to_work(options->workdir ? options->workdir : "/");
	if (why.code != W_NONE)
		refuse_task(spank);
	return ESPANK_SUCCESS;
}

int slurm_spank_task_post_fork(spank_t spank, int argc, char *argv[])
{
	(void)spank;
	(void)argc;
	(void)argv;
	room_rest(&room);
	return ESPANK_SUCCESS;
}

/* What the last task leaves behind ends now. */
int slurm_spank_task_exit(spank_t spank, int argc, char *argv[])
{
	uint32_t tasks = 0;

	(void)argc;
	(void)argv;
	if (!spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) && ++ended >= tasks)
		room_end(&room);
	return ESPANK_SUCCESS;
}

int slurm_spank_exit(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	if (spank_remote(spank) == 1)
		room_end(&room);
	return ESPANK_SUCCESS;
}
