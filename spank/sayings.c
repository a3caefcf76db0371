#include "sayings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "words.h"

#define TENANT (1U << CLASS_TENANT)
#define USER (1U << CLASS_USER)
#define LAST_GID (UINT32_MAX - 1) /* the one behind it means "none" */

int saying_wrong(struct reading *reading, const char *what, const char *word)
{
	return refuse(reading->why, W_WORD, 0, "line %u: %s \"%.128s\"", reading->line, what, word);
}

int saying_no_memory(struct reading *reading)
{
	return refuse(reading->why, W_MEMORY, ENOMEM, "read a policy");
}

static int keep_text(struct reading *reading, char **place, const char *text)
{
	*place = strdup(text);
	return *place ? 0 : saying_no_memory(reading);
}

/* A path that is a place of its own: nothing may be laid over `/`, and nobody is given all of a node. */
static int keep_path(struct reading *reading, char **place, const char *text)
{
	if (!word_is_path(text) || !strcmp(text, "/"))
		return saying_wrong(reading, "wrong path", text);
	return keep_text(reading, place, text);
}

static int keep_in_list(struct reading *reading, char ***list, size_t *count, const char *text)
{
	char **longer = reallocarray(*list, *count + 1, sizeof(*longer));

	if (!longer)
		return saying_no_memory(reading);
	*list = longer;
	longer[*count] = NULL;
	return keep_text(reading, &longer[(*count)++], text);
}

/* One of two words; true for the second. */
static int keep_choice(struct reading *reading, bool *second, const char *said, const char *one, const char *other)
{
	*second = !strcmp(said, other);
	return *second || !strcmp(said, one) ? 0 : saying_wrong(reading, "wrong word", said);
}

static int take_tenant(struct reading *reading, char **said)
{
	if (!word_is_name(said[0]))
		return saying_wrong(reading, "wrong name", said[0]);
	return keep_text(reading, &reading->policy->tenant, said[0]);
}

static int take_image(struct reading *reading, char **said)
{
	struct policy *policy = reading->policy;
	struct policy_image *images = reallocarray(policy->images, policy->image_count + 1, sizeof(*images)), *image;

	if (!images)
		return saying_no_memory(reading);
	policy->images = images;
	image = &images[policy->image_count++];
	*image = (struct policy_image){0};
	if (!word_is_digest(said[0]))
		return saying_wrong(reading, "wrong digest", said[0]);
	if (keep_text(reading, &image->digest, said[0]) < 0)
		return -1;
	return keep_path(reading, &image->path, said[1]);
}

/* What the kernel shows at these places is the plugin's affair. */
static bool is_kernels(const char *path)
{
	return word_is_within(path, "/proc") || word_is_within(path, "/sys") || word_is_within(path, "/dev");
}

/* A target that is free to be mounted at: of two mounts at one place only one would be seen. */
static int check_target(struct reading *reading, const char *target)
{
	const struct policy *policy = reading->policy;

	if (is_kernels(target))
		return saying_wrong(reading, "nothing can be mounted at", target);
	for (size_t i = 0; i < policy->mount_count; i++)
		if (!strcmp(policy->mounts[i].target, target))
			return saying_wrong(reading, "a second mount at", target);
	return 0;
}

static bool lies_in(const struct policy_mount *inner, const struct policy_mount *outer)
{
	return outer->writable && word_is_within(inner->target, outer->target);
}

/* Whoever may write to a directory may put another in place of one in it, or a link, and choose what is covered. */
static int check_nesting(struct reading *reading, const struct policy_mount *last)
{
	for (const struct policy_mount *other = reading->policy->mounts; other < last; other++)
		if (lies_in(last, other) || lies_in(other, last))
			return saying_wrong(reading, "a mount within a writable one:",
					    lies_in(last, other) ? last->target : other->target);
	return 0;
}

static int take_mount(struct reading *reading, char **said)
{
	struct policy *policy = reading->policy;
	struct policy_mount *mounts, *mount;

	if (check_target(reading, said[1]) < 0)
		return -1;
	mounts = reallocarray(policy->mounts, policy->mount_count + 1, sizeof(*mounts));
	if (!mounts)
		return saying_no_memory(reading);
	policy->mounts = mounts;
	mount = &mounts[policy->mount_count++];
	*mount = (struct policy_mount){0};
	if (keep_path(reading, &mount->source, said[0]) < 0 || keep_path(reading, &mount->target, said[1]) < 0)
		return -1;
	if (keep_choice(reading, &mount->writable, said[2], "ro", "rw") < 0)
		return -1;
	return check_nesting(reading, mount);
}

static int take_output(struct reading *reading, char **said)
{
	return keep_path(reading, &reading->policy->output, said[0]);
}

static int take_workdir(struct reading *reading, char **said)
{
	if (!word_is_path(said[0]))
		return saying_wrong(reading, "wrong path", said[0]);
	return keep_text(reading, &reading->policy->workdir, said[0]);
}

/* Not 0, which means "without end" to tmpfs. */
static int keep_size(struct reading *reading, uint64_t *bytes, const char *said)
{
	return word_size(said, bytes) && *bytes > 0 ? 0 : saying_wrong(reading, "wrong size", said);
}

static int take_tmp(struct reading *reading, char **said)
{
	return keep_size(reading, &reading->policy->tmp_bytes, said[0]);
}

static int take_shm(struct reading *reading, char **said)
{
	return keep_size(reading, &reading->policy->shm_bytes, said[0]);
}

static int take_net(struct reading *reading, char **said)
{
	return keep_choice(reading, &reading->policy->host_network, said[0], "private", "host");
}

static int take_device(struct reading *reading, char **said)
{
	struct policy *policy = reading->policy;

	if (!word_is_path(said[0]) || !word_is_within(said[0], "/dev") || !strcmp(said[0], "/dev"))
		return saying_wrong(reading, "no path of a device", said[0]);
	return keep_in_list(reading, &policy->devices, &policy->device_count, said[0]);
}

/* RLIMIT_..., or -1. */
static int limit_named(const char *name)
{
	static const struct {
		const char *name;
		int what;
	} limits[] = {
		{"nproc", RLIMIT_NPROC}, {"nofile", RLIMIT_NOFILE},   {"fsize", RLIMIT_FSIZE},
		{"core", RLIMIT_CORE},   {"memlock", RLIMIT_MEMLOCK}, {"stack", RLIMIT_STACK},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (!strcmp(limits[i].name, name))
			return limits[i].what;
	return -1;
}

static int take_limit(struct reading *reading, char **said)
{
	struct policy *policy = reading->policy;
	struct policy_limit *limits, limit = {.what = limit_named(said[0])};

	if (limit.what < 0)
		return saying_wrong(reading, "unknown limit", said[0]);
	for (size_t i = 0; i < policy->limit_count; i++)
		if (policy->limits[i].what == limit.what)
			return saying_wrong(reading, "said twice: limit", said[0]);
	if (!word_size(said[1], &limit.most))
		return saying_wrong(reading, "wrong number", said[1]);
	limits = reallocarray(policy->limits, policy->limit_count + 1, sizeof(*limits));
	if (!limits)
		return saying_no_memory(reading);
	policy->limits = limits;
	limits[policy->limit_count++] = limit;
	return 0;
}

static int take_environment(struct reading *reading, char **said)
{
	struct policy *policy = reading->policy;

	if (!word_is_variable(said[0]))
		return saying_wrong(reading, "wrong name of a variable", said[0]);
	return keep_in_list(reading, &policy->environment, &policy->environment_count, said[0]);
}

/* Root's group is no tenant's: it owns too much of a node. */
static int take_group(struct reading *reading, char **said)
{
	struct policy *policy = reading->policy;
	uint64_t gid;
	gid_t *groups;

	if (!word_number(said[0], LAST_GID, &gid) || !gid)
		return saying_wrong(reading, "wrong group", said[0]);
	groups = reallocarray(policy->groups, policy->group_count + 1, sizeof(*groups));
	if (!groups)
		return saying_no_memory(reading);
	policy->groups = groups;
	groups[policy->group_count++] = (gid_t)gid;
	return 0;
}

static int take_root(struct reading *reading, char **said)
{
	return keep_path(reading, &reading->policy->root, said[0]);
}

static int take_keep(struct reading *reading, char **said)
{
	struct policy *policy = reading->policy;

	if (!word_is_path(said[0]) || !strcmp(said[0], "/"))
		return saying_wrong(reading, "wrong path", said[0]);
	return keep_in_list(reading, &policy->keeps, &policy->keep_count, said[0]);
}

static int take_devices(struct reading *reading, char **said)
{
	return keep_choice(reading, &reading->policy->minimal_devices, said[0], "node", "minimal");
}

static int take_containers(struct reading *reading, char **said)
{
	return keep_choice(reading, &reading->policy->no_containers, said[0], "yes", "no");
}

static int take_save(struct reading *reading, char **said)
{
	return keep_choice(reading, &reading->policy->no_saving, said[0], "yes", "no");
}

const struct saying sayings[] = {
	{"tenant", 1, TENANT, TENANT, false, take_tenant},
	{"image", 2, TENANT, TENANT, true, take_image},
	{"mount", 3, TENANT | USER, 0, true, take_mount},
	{"output", 1, TENANT, TENANT, false, take_output},
	{"workdir", 1, TENANT, 0, false, take_workdir},
	{"tmp", 1, TENANT, 0, false, take_tmp},
	{"shm", 1, TENANT, 0, false, take_shm},
	{"net", 1, TENANT, 0, false, take_net},
	{"device", 1, TENANT | USER, 0, true, take_device},
	{"limit", 2, TENANT, 0, true, take_limit},
	{"environment", 1, TENANT, 0, true, take_environment},
	{"group", 1, TENANT, 0, true, take_group},
	{"root", 1, USER, USER, false, take_root},
	{"keep", 1, USER, 0, true, take_keep},
	{"devices", 1, USER, 0, false, take_devices},
	{"containers", 1, USER, 0, false, take_containers},
	{"save", 1, USER, 0, false, take_save},
};

const size_t saying_count = sizeof(sayings) / sizeof(*sayings);
