#define _GNU_SOURCE
#include "confine.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter.h"

/* Capabilities cannot be won by being root, kept by becoming somebody else, or handed on. */
#define SECURE \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | \
	 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static int bound(struct refusal *why)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap))
			return refuse(why, W_CONFINE, errno, "dropping capability %lu", cap);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) || prctl(PR_SET_SECUREBITS, SECURE) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return refuse(why, W_CONFINE, errno, "keeping programs from gaining privileges");
	return 0;
}

static int capabilities(long call, struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return (int)syscall(call, &header, data);
}

int confine_keeper(struct refusal *why)
{
	struct __user_cap_data_struct none[2] = {0};

	if (bound(why))
		return -1;
	if (capabilities(SYS_capset, none))
		return refuse(why, W_CONFINE, errno, "giving up capabilities");
	return 0;
}

/* Slurm sets the groups that it knows of afterwards: that is made to do nothing, and looked at in the end. */
static int set_groups(const struct policy *policy, struct refusal *why)
{
	if (setgroups(policy->group_count, policy->groups))
		return refuse(why, W_CONFINE, errno, "the groups of the policy");
	return filter_groups(why);
}

int confine_first(const struct policy *policy, struct refusal *why)
{
	return bound(why) || set_groups(policy, why) ? -1 : 0;
}

static int check_groups(const struct policy *policy, struct refusal *why)
{
	gid_t groups[NGROUPS_MAX];
	int count = getgroups(NGROUPS_MAX, groups);

	if (count < 0)
		return refuse(why, W_CONFINE, errno, "the groups of the task");
	for (int i = 0; i < count; i++) {
		size_t k = 0;

		while (k < policy->group_count && policy->groups[k] != groups[i])
			k++;
		if (k == policy->group_count)
			return refuse(why, W_CONFINE, 0, "the task has group %u, which is not granted", groups[i]);
	}
	return 0;
}

static int check_powers(struct refusal *why)
{
	struct __user_cap_data_struct has[2];

	if (!getuid() || !geteuid())
		return refuse(why, W_CONFINE, 0, "the task is root");
	if (!getgid() || !getegid())
		return refuse(why, W_CONFINE, 0, "the task's group is root's; give the account another one");
	if (capabilities(SYS_capget, has))
		return refuse(why, W_CONFINE, errno, "the capabilities of the task");
	for (int i = 0; i < 2; i++)
		if (has[i].effective | has[i].permitted | has[i].inheritable)
			return refuse(why, W_CONFINE, 0, "the task has capabilities");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return refuse(why, W_CONFINE, 0, "the task's programs could gain privileges");
	return 0;
}

/* Hard and soft, and never more than there is. */
static int limit(const struct policy_limit *wanted, struct refusal *why)
{
	struct rlimit is;

	if (getrlimit((__rlimit_resource_t)wanted->what, &is))
		return refuse(why, W_CONFINE, errno, "limit %d", wanted->what);
	if (is.rlim_max == RLIM_INFINITY || wanted->most < is.rlim_max)
		is.rlim_max = wanted->most;
	if (is.rlim_cur == RLIM_INFINITY || is.rlim_cur > is.rlim_max)
		is.rlim_cur = is.rlim_max;
	if (setrlimit((__rlimit_resource_t)wanted->what, &is))
		return refuse(why, W_CONFINE, errno, "limit %d", wanted->what);
	return 0;
}

int confine_descriptors(struct refusal *why)
{
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC))
		return refuse(why, W_CONFINE, errno, "descriptors of the node");
	return 0;
}

int confine_last(const struct policy *policy, struct refusal *why)
{
	if (check_groups(policy, why) || check_powers(why))
		return -1;
	for (size_t i = 0; i < policy->limit_count; i++)
		if (limit(&policy->limits[i], why))
			return -1;
	umask(077);
	return filter_calls(why);
}
