/* Any bytes are a policy that keeps its promises, or are refused with nothing left behind. */
#include "../policy.h"

#include <stdlib.h>
#include <string.h>

#include "../words.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void must_be_empty(const struct policy *policy)
{
	must(policy->class == CLASS_NONE && !policy->image_count && !policy->mount_count && !policy->group_count);
	must(!policy->tenant && !policy->root && !policy->output && !policy->workdir && !policy->images);
}

static void must_be_paths(char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		must(word_is_path(paths[i]) && strcmp(paths[i], "/") != 0);
}

static void must_be_walls(const struct policy *policy)
{
	must(policy->image_count && policy->output && policy->tenant && policy->workdir);
	must(policy->tmp_bytes && policy->shm_bytes && !policy->root && !policy->keep_count);
	for (size_t i = 0; i < policy->image_count; i++)
		must(word_is_digest(policy->images[i].digest) && word_is_path(policy->images[i].path));
	for (size_t i = 0; i < policy->environment_count; i++)
		must(word_is_variable(policy->environment[i]));
	for (size_t i = 0; i < policy->group_count; i++)
		must(policy->groups[i] != 0 && policy->groups[i] != (gid_t)-1);
}

static void must_be_right(const struct policy *policy)
{
	must(policy->class >= CLASS_TENANT && policy->class <= CLASS_ADMIN);
	must_be_paths(policy->keeps, policy->keep_count);
	must_be_paths(policy->devices, policy->device_count);
	for (size_t i = 0; i < policy->mount_count; i++) {
		must_be_paths(&policy->mounts[i].source, 1);
		must_be_paths(&policy->mounts[i].target, 1);
	}
	if (policy->class == CLASS_TENANT)
		must_be_walls(policy);
	if (policy->class == CLASS_USER)
		must(policy->root && !policy->image_count && !policy->group_count && !policy->host_network);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct refusal why = {0};
	struct policy policy;

	if (policy_read((const char *)bytes, length, &policy, &why) == 0) {
		must(why.code == W_NONE);
		must_be_right(&policy);
	} else {
		must(why.code == W_WORD && why.what[0]);
		must_be_empty(&policy);
	}
	policy_free(&policy);
	return 0;
}
