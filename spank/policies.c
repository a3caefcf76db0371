#include "policies.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trust.h"

/* What is wrong with a file's text, told with its name. */
static int blame(const struct trusted *file, const struct refusal *wrong, struct refusal *why)
{
	return refuse(why, wrong->code, wrong->error, "policy %s: %s", file->path, wrong->what);
}

/* 1: read, 0: there is no such file. */
static int take_policy(int directory, const char *name, struct trusted *file, struct policy *policy,
		       struct refusal *why)
{
	struct refusal wrong = {0};
	int found = trust_file(directory, name, file, why);

	if (found > 0 && policy_read(file->text, file->length, policy, &wrong) < 0)
		found = blame(file, &wrong, why);
	free(file->text);
	return found;
}

static int own_policy(int policies, const char *path, uid_t uid, struct policy *policy, struct refusal *why)
{
	struct trusted file = {0};
	char name[16];

	snprintf(name, sizeof(name), "uid-%u", uid);
	snprintf(file.path, sizeof(file.path), "%s/%s", path, name);
	return take_policy(policies, name, &file, policy, why);
}

/* Without `ranges` nobody can know who must not be let through, so it has to be there. */
static int class_of(int policies, const char *path, uid_t uid, enum user_class *class, struct refusal *why)
{
	struct refusal wrong = {0};
	struct trusted file = {0};
	int found;

	snprintf(file.path, sizeof(file.path), "%s/ranges", path);
	found = trust_file(policies, "ranges", &file, why);
	if (found == 0)
		found = refuse(why, W_POLICY, 0, "policy %s: there is no file \"ranges\"", path);
	else if (found > 0 && ranges_read(file.text, file.length, uid, class, &wrong) < 0)
		found = blame(&file, &wrong, why);
	free(file.text);
	return found < 0 ? -1 : 0;
}

/* One file for many can never be a tenant's: two uids would share what the walls are to keep apart. */
static int check_default(const char *path, enum user_class wanted, enum user_class has, struct refusal *why)
{
	if (has == CLASS_TENANT)
		return refuse(why, W_POLICY, 0, "policy %s/default: a tenant has a file of its own", path);
	if (wanted != CLASS_NONE && wanted != has)
		return refuse(why, W_POLICY, 0, "policy %s/default: has class %s, the uid's range has class %s", path,
			      class_name(has), class_name(wanted));
	return 0;
}

static int default_policy(int policies, const char *path, uid_t uid, struct policy *policy, struct refusal *why)
{
	enum user_class wanted = CLASS_NONE;
	struct trusted file = {0};
	int found;

	if (class_of(policies, path, uid, &wanted, why) < 0)
		return -1;
	if (wanted == CLASS_TENANT)
		return refuse(why, W_RANGE, 0, "policy %s: tenant's uid %u has no file of its own", path, uid);
	snprintf(file.path, sizeof(file.path), "%s/default", path);
	found = take_policy(policies, "default", &file, policy, why);
	if (found == 0)
		return refuse(why, W_POLICY, 0, "policy %s: uid %u has no file, and there is no default", path, uid);
	return found < 0 ? -1 : check_default(path, wanted, policy->class, why);
}

int policy_of(const char *directory, uid_t uid, struct policy *policy, struct refusal *why)
{
	int policies = trust_way(directory, why), result;

	*policy = (struct policy){0};
	if (policies < 0)
		return -1;
	result = own_policy(policies, directory, uid, policy, why);
	if (result == 0)
		result = default_policy(policies, directory, uid, policy, why);
	close(policies);
	if (result < 0)
		policy_free(policy);
	return result < 0 ? -1 : 0;
}
