/*
 * pam_penstock.so: who may come to a node by ssh, and what they see there. The same policies decide that decide about
 * tasks, and the same functions carry it out, so nobody gets more by ssh than by srun.
 *
 * account: a tenant never gets in, job or not. Walls are for the tasks of steps; whoever comes by another door would
 *          stand on the node. Whom no policy decides about stays outside, too.
 * session: a user is in the shared root, in a mount namespace of the session's own; slurmd's mounts are untouched. sshd
 *          runs nothing for somebody whose session was not opened. What the session runs ends with its job, by the
 *          plugin's epilog, also where Slurm has no control groups to tell by.
 *
 * Root gets in whatever the policies say: it is root of the node, and may have come to repair them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <security/pam_modutil.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "../policies.h"
#include "../shared.h"
#include "../sweep.h"

/* Tells whoever waits at the door, and the node's log. */
static int refuse_person(pam_handle_t *pam, int result, const char *name, const struct refusal *why)
{
	char line[768];

	refusal_words(why, line, sizeof(line));
	pam_syslog(pam, LOG_NOTICE, "%s is refused: %s", name, line);
	pam_error(pam, "penstock: no session on this node: %s", line);
	return result;
}

static const char *policies_of(int argc, const char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "policy=/", 8))
			return argv[i] + 7;
	return POLICIES;
}

/* Which policy somebody has who is no tenant; -1 for all others. */
static int admit(const char *directory, uid_t uid, struct policy *policy, struct refusal *why)
{
	if (policy_of(directory, uid, policy, why))
		return -1;
	if (policy->class == CLASS_USER || policy->class == CLASS_ADMIN)
		return 0;
	policy_free(policy);
	return refuse(why, W_POLICY, 0, "uid %u is a tenant's, who has jobs here and no sessions", uid);
}

static const struct passwd *person(pam_handle_t *pam)
{
	const char *name = NULL;

	return pam_get_user(pam, &name, NULL) == PAM_SUCCESS && name ? pam_modutil_getpwnam(pam, name) : NULL;
}

PAM_EXTERN int pam_sm_acct_mgmt(pam_handle_t *pam, int flags, int argc, const char **argv)
{
	const struct passwd *who = person(pam);
	struct policy policy = {0};
	struct refusal why = {0};

	(void)flags;
	if (!who)
		return PAM_USER_UNKNOWN;
	if (!who->pw_uid)
		return PAM_SUCCESS;
	if (admit(policies_of(argc, argv), who->pw_uid, &policy, &why))
		return refuse_person(pam, PAM_PERM_DENIED, who->pw_name, &why);
	policy_free(&policy);
	return PAM_SUCCESS;
}

/* pam_slurm_adopt says which job it is. The epilog ends only what is of jobs that it knows of. */
static void belong(pam_handle_t *pam, uid_t uid)
{
	const char *job = pam_getenv(pam, "SLURM_JOB_ID");
	unsigned long number = job ? strtoul(job, NULL, 10) : 0;

	if (number && number <= UINT32_MAX)
		sweep_note((uint32_t)number, uid);
}

/* The room of a task without a script and without a container. */
static int enter(const struct passwd *who, const struct policy *policy, struct refusal *why)
{
	static const struct options none;
	struct step session = {
		.uid = who->pw_uid, .gid = who->pw_gid, .policy = policy, .options = &none, .cwd = "/",
		.mapped = -1, .files = -1,
	};

	if (unshare(CLONE_NEWNS))
		return refuse(why, W_NAMESPACE, errno, "mounts of its own");
	return shared_enter(&session, why);
}

PAM_EXTERN int pam_sm_open_session(pam_handle_t *pam, int flags, int argc, const char **argv)
{
	const struct passwd *who = person(pam);
	struct policy policy = {0};
	struct refusal why = {0};
	int entered;

	(void)flags;
	if (!who)
		return PAM_SESSION_ERR;
	if (admit(policies_of(argc, argv), who->pw_uid, &policy, &why)) {
		if (who->pw_uid)
			return refuse_person(pam, PAM_SESSION_ERR, who->pw_name, &why);
		return PAM_SUCCESS; /* on the node itself */
	}
	if (policy.class == CLASS_USER)
		belong(pam, who->pw_uid);
	entered = policy.class == CLASS_ADMIN ? 0 : enter(who, &policy, &why);
	policy_free(&policy);
	return entered ? refuse_person(pam, PAM_SESSION_ERR, who->pw_name, &why) : PAM_SUCCESS;
}

PAM_EXTERN int pam_sm_close_session(pam_handle_t *pam, int flags, int argc, const char **argv)
{
	(void)pam;
	(void)flags;
	(void)argc;
	(void)argv;
	return PAM_SUCCESS; /* its mounts end with it */
}
