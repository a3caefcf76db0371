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
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asking.h"
#include "bounds.h"
#include "confine.h"
#include "container.h"
#include "filter.h"
#include "kept.h"
#include "node_log.h"
#include "others.h"
#include "output.h"
#include "patience.h"
#include "people.h"
#include "policies.h"
#include "process.h"
#include "proof.h"
#include "remap.h"
#include "saving.h"
#include "shared.h"
#include "sweep.h"
#include "walls.h"

SPANK_PLUGIN(penstock, 1)

static const char *policies = POLICIES;
static struct refusal why;
static struct policy policy;
static struct room room = {.inside = -1, .outside = -1};
static struct saving saving = {.room = {.inside = -1, .outside = -1}, .directory = -1, .tree = -1};
static struct variables *variables = MAP_FAILED;
static int output = -1, mapped = -1;
static bool known, prepared, own_reason, sealed;
static unsigned ended;
static int killed; /* the signal by which somebody ended a task */

/* To the user, and to the node's log. */
static void tell(spank_t spank, const char *what, const struct refusal *reason)
{
	char line[768], name[64], whole[896];
	uid_t uid = (uid_t)-1;

	spank_get_item(spank, S_JOB_UID, &uid);
	step_name(spank, name, sizeof(name));
	refusal_words(reason, line, sizeof(line));
	snprintf(whole, sizeof(whole), "penstock: step %s of uid %u is %s: %s", name, uid, what, line);
	slurm_error("%s", whole);
	node_log_say(whole);
}

/* Ends a task that must not run, and says why: once for all tasks, unless this one has a reason of its own. */
static void refuse_task(spank_t spank)
{
	int task = 0;

	spank_get_item(spank, S_TASK_ID, &task);
	if (own_reason || !task)
		tell(spank, "refused", &why);
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
	/* Where two plugins have an option Slurm gives it to the first, and tells neither. */
	asking_register(options && !others_named("pyxis") ? spank : NULL);
	if (spank_context() == S_CTX_SLURMD)
		node_log_announce();
	return ESPANK_SUCCESS;
}

static int learn(spank_t spank)
{
	uid_t uid;

	if (known)
		return 0;
	if (spank_get_item(spank, S_JOB_UID, &uid))
		return refuse(&why, W_SLURM, 0, "Slurm does not say whose step this is");
	if (policy_of(policies, uid, &policy, &why))
		return -1;
	known = true;
	return 0;
}

/* It has no files, and no tasks. */
static bool is_extern(spank_t spank)
{
	uint32_t step = 0;

	return !spank_get_item(spank, S_JOB_STEPID, &step) && step == SLURM_EXTERN_CONT;
}

/*
 * Whatever slurmstepd runs for the user, srun's --task-epilog or what other plugins have it run, it runs on the node. So
 * for tenants it runs nothing any more once all tasks are born, and for whoever is refused from that moment on.
 */
static void seal(void)
{
	struct refusal open = {0};

	if (sealed || (why.code == W_NONE && (policy.class == CLASS_USER || policy.class == CLASS_ADMIN)))
		return;
	if (filter_programs(&open))
		abort(); /* the room ends with slurmstepd */
	sealed = true;
}

/* slurmstepd has just begun: nothing of the step's is open yet. */
int slurm_spank_init_post_opt(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	if (spank_context() != S_CTX_REMOTE)
		return ESPANK_SUCCESS;
	if (why.code == W_NONE && !learn(spank) && policy.class == CLASS_USER) {
		kept_remember();
		people_show(&policy, &why);
	} else if (policy.class != CLASS_ADMIN && !is_extern(spank)) {
		patience_begin(&why);
		if (policy.class == CLASS_TENANT)
			others_check(&why);
	}
	if (why.code != W_NONE && !is_extern(spank))
		seal();
	return ESPANK_SUCCESS;
}

/* Whether the step is in a container of its user's choice. */
static bool contained(void)
{
	return policy.class == CLASS_USER && (asking_options()->image || asking_options()->name);
}

static int prepare_room(struct step *step)
{
	if (policy.class == CLASS_USER) {
		sweep_note(step->job, step->uid);
		if (container_check(step, &why))
			return -1;
		if (contained())
			return container_room(&room, step, &mapped, &why) ||
				       (step->options->save && saving_begin(&saving, step, &room, &why))
			       ? -1 : 0;
		return room_make(&room, CLONE_NEWNS, shared_furnish, step, &why);
	}
	if (proof_check(&why))
		return -1;
	output = output_open(&policy, &why);
	if (why.code != W_NONE || output_check_own(&policy, output, &why) || walls_check(step, &why) ||
	    walls_hold(step, &why) ||
	    room_make(&room, walls_kinds(&policy), walls_furnish, step, &why))
		return -1;
	return room_bear(&room, &why);
}

static int prepare(spank_t spank)
{
	char cwd[PATH_MAX], home[PATH_MAX];
	struct step step = {
		.policy = &policy, .options = asking_options(), .cwd = getcwd(cwd, sizeof(cwd)) ? cwd : "/",
		.mapped = -1, .files = -1,
	};
	gid_t *groups = NULL;
	int group_count = 0;

	if (spank_get_item(spank, S_JOB_UID, &step.uid) || spank_get_item(spank, S_JOB_GID, &step.gid) ||
	    spank_get_item(spank, S_JOB_SUPPLEMENTARY_GIDS, &groups, &group_count) ||
	    spank_get_item(spank, S_JOB_ID, &step.job) || spank_get_item(spank, S_JOB_NNODES, &step.nodes))
		return refuse(&why, W_SLURM, 0, "Slurm does not say whose step this is");
	if (learn(spank))
		return -1;
	if (policy.class == CLASS_ADMIN)
		return 0;
	if (asking_environment(spank, &why) || step_script(spank, &step.script, &why))
		return -1;
	variables = mmap(NULL, sizeof(*variables), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (variables == MAP_FAILED)
		return refuse(&why, W_MEMORY, errno, "the variables of the image");
	step.variables = variables;
	step.groups = groups;
	step.group_count = (size_t)group_count;
	step_host(spank, step.host, sizeof(step.host));
	step.home = spank_getenv(spank, "HOME", home, sizeof(home)) ? NULL : home;
	return prepare_room(&step);
}

/* Plugins behind us come next, and then tasks are born. */
static void hand_over(void)
{
	if (why.code == W_NONE && policy.class == CLASS_TENANT)
		others_disarm(&why);
	if (why.code != W_NONE)
		seal();
}

int slurm_spank_user_init(spank_t spank, int argc, char *argv[])
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	(void)argc;
	(void)argv;
	if (!spank_remote(spank))
		return ESPANK_SUCCESS;
	patience_end();
	prepared = true;
	if (thread_becomes(0, 0))
		refuse(&why, W_SLURM, errno, "slurmd is not root");
	node_log_open();
	if (why.code == W_NONE)
		prepare(spank);
	hand_over();
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
	else if (contained() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
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
		       step_environment(spank, &policy, variables, workdir, &why) || confine_descriptors(&why) ||
		       confine_last(&policy, &why)
	       ? -1 : 0;
}

static int begin_contained(spank_t spank)
{
	const struct options *options = asking_options();

	if (go_to_work(options->workdir ? options->workdir : "/") || step_variables(spank, variables, &why))
		return -1;
	return options->remap_root ? remap_enter(mapped, &why) : 0;
}

int slurm_spank_task_init(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	if (why.code == W_NONE && policy.class == CLASS_TENANT)
		begin_tenant(spank);
	else if (why.code == W_NONE && contained())
		begin_contained(spank);
	if (why.code != W_NONE)
		refuse_task(spank);
	return ESPANK_SUCCESS;
}

int slurm_spank_task_post_fork(spank_t spank, int argc, char *argv[])
{
	pid_t task;

	(void)argc;
	(void)argv;
	if (saving.path && !spank_get_item(spank, S_TASK_PID, &task))
		bounds_note(task);
	room_rest(&room);
	seal();
	others_rearm();
	return ESPANK_SUCCESS;
}

/* Whoever ends a step does not wait for it to be saved; a task that fails by itself is another matter, as with Pyxis. */
static void note_end(spank_t spank)
{
	int status = 0;

	if (spank_get_item(spank, S_TASK_EXIT_STATUS, &status) || !WIFSIGNALED(status))
		return;
	if (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGINT)
		killed = WTERMSIG(status);
}

/* Slurm takes no other exit code from here: a line is all that tells of a failure. */
static void save(spank_t spank)
{
	struct refusal unsaved = {0};

	if (killed)
		refuse(&unsaved, W_SAVE, 0, "--container-save %.256s: a task was ended by signal %d", saving.path, killed);
	else
		saving_do(&saving, &unsaved);
	if (unsaved.code != W_NONE)
		tell(spank, "not saved", &unsaved);
}

/* What the last task leaves behind ends now. */
int slurm_spank_task_exit(spank_t spank, int argc, char *argv[])
{
	uint32_t tasks = 0;

	(void)argc;
	(void)argv;
	note_end(spank);
	if (spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) || ++ended < tasks)
		return ESPANK_SUCCESS;
	if (saving.path)
		save(spank);
	saving_end(&saving);
	room_end(&room);
	return ESPANK_SUCCESS;
}

int slurm_spank_exit(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	patience_end();
	if (spank_remote(spank) != 1)
		return ESPANK_SUCCESS;
	saving_end(&saving);
	if (!is_extern(spank))
		seal(); /* also where no task was ever born */
	others_rearm();
	room_end(&room);
	return ESPANK_SUCCESS;
}

/* As root, before the first step of a job on this node: what a job of that number left whose epilog was missed. */
int slurm_spank_job_prolog(spank_t spank, int argc, char *argv[])
{
	uint32_t job = 0;

	(void)argc;
	(void)argv;
	if (spank_get_item(spank, S_JOB_ID, &job) || sweep_is_at_work(job) ||
	    !(kept_sweep_number(job) | sweep_number(job)))
		return ESPANK_SUCCESS;
	slurm_error("penstock: a former job %u left something on this node that cannot be removed", job);
	return ESPANK_ERROR;
}

/* As root, when all of a job's steps on this node are over. A node is drained for what this returns. */
int slurm_spank_job_epilog(spank_t spank, int argc, char *argv[])
{
	uint32_t job = 0;
	uid_t uid = 0;

	(void)argc;
	(void)argv;
	if (spank_get_item(spank, S_JOB_ID, &job) || spank_get_item(spank, S_JOB_UID, &uid) ||
	    !(kept_sweep(job, uid) | sweep_job(job, uid)))
		return ESPANK_SUCCESS;
	slurm_error("penstock: job %u of uid %u left something on this node that cannot be removed", job, uid);
	return ESPANK_ERROR;
}
