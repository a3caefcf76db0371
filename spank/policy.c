#include "policy.h"

#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "sayings.h"

#define TMP_BYTES (1ULL << 30)
#define SHM_BYTES (64ULL << 20)

static const char *const classes[] = {
	[CLASS_NONE] = "none", [CLASS_TENANT] = "tenant", [CLASS_USER] = "user", [CLASS_ADMIN] = "admin",
};

enum user_class class_named(const char *name)
{
	for (enum user_class class = CLASS_TENANT; class <= CLASS_ADMIN; class++)
		if (!strcmp(classes[class], name))
			return class;
	return CLASS_NONE;
}

const char *class_name(enum user_class class)
{
	return classes[class];
}

static size_t count(char **said)
{
	size_t words_said = 0;

	while (said[words_said])
		words_said++;
	return words_said;
}

static int take_class(struct reading *reading, char **said)
{
	if (strcmp(said[0], "class") != 0 || count(said) != 2)
		return saying_wrong(reading, "the class must be said first, not", said[0]);
	reading->policy->class = class_named(said[1]);
	return reading->policy->class == CLASS_NONE ? saying_wrong(reading, "unknown class", said[1]) : 0;
}

static int take_word(struct reading *reading, char **said)
{
	size_t i = 0;

	while (i < saying_count && strcmp(sayings[i].name, said[0]) != 0)
		i++;
	if (i == saying_count)
		return saying_wrong(reading, "unknown word", said[0]);
	if (!(sayings[i].classes & (1U << reading->policy->class)))
		return saying_wrong(reading, "a word of another class:", said[0]);
	if (!sayings[i].many && reading->seen & (1U << i))
		return saying_wrong(reading, "said twice:", said[0]);
	if (count(said) != sayings[i].arguments + 1)
		return saying_wrong(reading, "too few or too many words behind", said[0]);
	reading->seen |= 1U << i;
	return sayings[i].take(reading, said + 1);
}

static int check_complete(struct reading *reading)
{
	const struct policy *policy = reading->policy;

	if (policy->class == CLASS_NONE)
		return refuse(reading->why, W_WORD, 0, "says no class");
	for (size_t i = 0; i < saying_count; i++)
		if (sayings[i].needed & (1U << policy->class) && !(reading->seen & (1U << i)))
			return refuse(reading->why, W_WORD, 0, "lacks the word \"%s\", which class %s must have",
				      sayings[i].name, class_name(policy->class));
	return 0;
}

static int read_lines(struct reading *reading, struct lines *lines)
{
	char *said[LINE_WORDS + 1];
	int more;

	while ((more = lines_next(lines, said, reading->why)) > 0) {
		bool first = reading->policy->class == CLASS_NONE;

		reading->line = lines->number;
		if ((first ? take_class(reading, said) : take_word(reading, said)) < 0)
			return -1;
	}
	return more < 0 ? -1 : check_complete(reading);
}

/* What a tenant has where its file says nothing. */
static int fill_in(struct reading *reading)
{
	struct policy *policy = reading->policy;

	if (policy->class != CLASS_TENANT)
		return 0;
	if (!policy->tmp_bytes)
		policy->tmp_bytes = TMP_BYTES;
	if (!policy->shm_bytes)
		policy->shm_bytes = SHM_BYTES;
	if (!policy->workdir)
		policy->workdir = strdup("/");
	return policy->workdir ? 0 : saying_no_memory(reading);
}

int policy_read(const char *text, size_t length, struct policy *policy, struct refusal *why)
{
	struct reading reading = {.policy = policy, .why = why};
	struct lines lines;
	int result;

	*policy = (struct policy){0};
	if (lines_open(&lines, text, length, why) < 0)
		return -1;
	result = read_lines(&reading, &lines);
	lines_close(&lines);
	if (result == 0)
		result = fill_in(&reading);
	if (result < 0)
		policy_free(policy);
	return result;
}

static void free_list(char **list, size_t length)
{
	for (size_t i = 0; i < length; i++)
		free(list[i]);
	free(list);
}

void policy_free(struct policy *policy)
{
	for (size_t i = 0; i < policy->image_count; i++) {
		free(policy->images[i].digest);
		free(policy->images[i].path);
	}
	for (size_t i = 0; i < policy->mount_count; i++) {
		free(policy->mounts[i].source);
		free(policy->mounts[i].target);
	}
	free(policy->images);
	free(policy->mounts);
	free(policy->limits);
	free(policy->groups);
	free_list(policy->keeps, policy->keep_count);
	free_list(policy->devices, policy->device_count);
	free_list(policy->environment, policy->environment_count);
	free(policy->tenant);
	free(policy->root);
	free(policy->output);
	free(policy->workdir);
	*policy = (struct policy){0};
}
