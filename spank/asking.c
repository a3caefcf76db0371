#define _GNU_SOURCE
#include "asking.h"

#include <errno.h>
#include <limits.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"

#define LONGEST_VALUE 65536

static struct options options = {.mount_home = -1, .writable = -1, .remap_said = -1};
static struct refusal wrong;
static bool registered;
static unsigned said; /* a bit for every enum option */

static int take(int value, const char *argument, int remote)
{
	char line[768];

	said |= 1u << value;
	if (!options_take(&options, (enum option)value, argument, &wrong) || remote)
		return 0; /* on the node the tasks are refused, with all that there is to say */
	refusal_words(&wrong, line, sizeof(line));
	slurm_error("penstock: %s", line);
	return -1;
}

static const struct {
	struct spank_option option;
	const char *variable; /* as Pyxis has them; a switch's is true or not */
} known[] = {
	{{"container-image", "PATH|DIGEST", "files of the container", 1, OPTION_IMAGE, take}, "IMAGE"},
	{{"container-mounts", "SRC:DST[:ro][,...]", "directories in the container", 1, OPTION_MOUNTS, take}, "MOUNTS"},
	{{"container-workdir", "PATH", "where tasks begin in the container", 1, OPTION_WORKDIR, take}, "WORKDIR"},
	{{"container-name", "NAME", "a name to use the container again", 1, OPTION_NAME, take}, "NAME"},
	{{"container-save", "PATH", "where to save the container", 1, OPTION_SAVE, take}, "SAVE"},
	{{"container-env", "NAME[,...]", "variables that stay as they are", 1, OPTION_ENV, take}, "ENV"},
	{{"container-mount-home", NULL, "show the home directory", 0, OPTION_MOUNT_HOME, take}, "MOUNT_HOME"},
	{{"no-container-mount-home", NULL, "do not", 0, OPTION_NO_MOUNT_HOME, take}, NULL},
	{{"container-remap-root", NULL, "be root in the container", 0, OPTION_REMAP_ROOT, take}, "REMAP_ROOT"},
	{{"no-container-remap-root", NULL, "do not", 0, OPTION_NO_REMAP_ROOT, take}, NULL},
	{{"container-writable", NULL, "files of the container can be written", 0, OPTION_WRITABLE, take}, "WRITABLE"},
	{{"container-readonly", NULL, "they cannot", 0, OPTION_READONLY, take}, "READONLY"},
};

#define KNOWN (sizeof(known) / sizeof(*known))

void asking_register(spank_t spank)
{
	registered = spank;
	for (size_t i = 0; registered && i < KNOWN; i++) {
		struct spank_option option = known[i].option;

		registered = spank_option_register(spank, &option) == ESPANK_SUCCESS;
	}
}

const struct options *asking_options(void)
{
	return &options;
}

/* Switches stand in pairs. */
static enum option opposite(int one)
{
	_Static_assert((OPTION_MOUNT_HOME ^ 1) == OPTION_NO_MOUNT_HOME && (OPTION_REMAP_ROOT ^ 1) == OPTION_NO_REMAP_ROOT &&
		       (OPTION_WRITABLE ^ 1) == OPTION_READONLY, "switches that are no pairs");
	return (enum option)(one ^ 1);
}

/* Pyxis passes over what is neither; but it could be somebody's protection. */
static int take_switch(const struct spank_option *option, const char *name, const char *value, struct refusal *why)
{
	static const char *const words[][2] = {{"0", "1"}, {"false", "true"}, {"no", "yes"}, {"n", "y"}};

	for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
		for (int yes = 0; yes < 2; yes++)
			if (!strcmp(value, words[k][yes]))
				return options_take(&options, yes ? (enum option)option->val : opposite(option->val), NULL, why);
	return refuse(why, W_OPTION, 0, "%s is %.64s; say true or false", name, value);
}

/* An option counts more than any variable for it or for its opposite. */
static bool is_said(const struct spank_option *option)
{
	return said & (1u << option->val | (option->has_arg ? 0 : 1u << opposite(option->val)));
}

static int take_variable(spank_t spank, size_t i, char *value, struct refusal *why)
{
	char name[64];
	const struct spank_option *option = &known[i].option;
	spank_err_t answer;

	if (!known[i].variable || is_said(option))
		return 0;
	snprintf(name, sizeof(name), "PYXIS_CONTAINER_%s", known[i].variable);
	answer = spank_getenv(spank, name, value, LONGEST_VALUE);
	if (answer == ESPANK_ENV_NOEXIST)
		return 0;
	/* Passed over, it would have the step run without the container that it asks for. */
	if (answer != ESPANK_SUCCESS)
		return refuse(why, W_OPTION, 0, "the variable %s cannot be read; %d bytes are the most", name, LONGEST_VALUE - 1);
	said |= 1u << option->val;
	if (!option->has_arg)
		return take_switch(option, name, value, why);
	return options_take(&options, (enum option)option->val, value, why);
}

int asking_environment(spank_t spank, struct refusal *why)
{
	char *value;

	if (wrong.code != W_NONE) {
		*why = wrong;
		return -1;
	}
	if (!registered)
		return 0;
	value = malloc(LONGEST_VALUE);
	if (!value)
		return refuse(why, W_MEMORY, errno, "variables for containers");
	/* The image comes first; variables for containers are nothing to a step that asks for none. */
	for (size_t i = 0; i < KNOWN && (!i || options.image || options.name); i++)
		if (take_variable(spank, i, value, why))
			break;
	free(value);
	return why->code == W_NONE ? 0 : -1;
}

void step_name(spank_t spank, char *name, size_t size)
{
	uint32_t job = 0, step = 0;

	spank_get_item(spank, S_JOB_ID, &job);
	spank_get_item(spank, S_JOB_STEPID, &step);
	if (step == SLURM_BATCH_SCRIPT)
		snprintf(name, size, "%u.batch", job);
	else if (step == SLURM_INTERACTIVE_STEP)
		snprintf(name, size, "%u.interactive", job);
	else
		snprintf(name, size, "%u.%u", job, step);
}

void step_host(spank_t spank, char *name, size_t size)
{
	uint32_t job = 0;

	spank_get_item(spank, S_JOB_ID, &job);
	snprintf(name, size, "job-%u", job);
}

int step_script(spank_t spank, const char **script, struct refusal *why)
{
	uint32_t step = 0;
	char **argv = NULL;
	int argc = 0;

	if (spank_get_item(spank, S_JOB_STEPID, &step))
		return refuse(why, W_SLURM, 0, "Slurm does not say which step this is");
	*script = NULL;
	if (step != SLURM_BATCH_SCRIPT)
		return 0;
	if (spank_get_item(spank, S_JOB_ARGV, &argc, &argv) || argc < 1 || !argv[0])
		return refuse(why, W_SLURM, 0, "Slurm does not say where the batch script is");
	*script = argv[0];
	return 0;
}

/* Slurm's array changes with every variable that goes, so each look begins anew. */
static int drop_one(spank_t spank, const struct policy *policy, bool *dropped, struct refusal *why)
{
	char **variables = NULL;
	char *name;

	*dropped = false;
	if (spank_get_item(spank, S_JOB_ENV, &variables))
		return refuse(why, W_SLURM, 0, "Slurm does not say what the task's environment is");
	while (variables && *variables && environment_passes(policy, *variables, strcspn(*variables, "=")))
		variables++;
	if (!variables || !*variables)
		return 0;
	name = strndup(*variables, strcspn(*variables, "="));
	if (!name || spank_unsetenv(spank, name)) {
		free(name);
		return refuse(why, W_CONFINE, 0, "Slurm does not let go of the variable %.64s", *variables);
	}
	free(name);
	*dropped = true;
	return 0;
}

static int set(spank_t spank, const char *name, const char *value, bool instead, struct refusal *why)
{
	spank_err_t answer = spank_setenv(spank, name, value, instead);

	if (answer != ESPANK_SUCCESS && answer != ESPANK_ENV_EXISTS)
		return refuse(why, W_CONFINE, 0, "Slurm does not take the variable %.64s", name);
	return 0;
}

/* Whether a variable was asked to stay as the job has it. */
static bool stays(const char *name)
{
	for (size_t i = 0; i < options.environment_count; i++)
		if (!strcmp(options.environment[i], name))
			return true;
	return false;
}

static int add_variables(spank_t spank, const struct variables *variables, bool instead, struct refusal *why)
{
	for (const char *one = NULL; (one = variables_next(variables, one));) {
		char *name = strndup(one, variable_name(one));

		if (!name)
			return refuse(why, W_MEMORY, ENOMEM, "the variables of the image");
		set(spank, name, one + variable_name(one) + 1, instead && !stays(name), why);
		free(name);
	}
	return why->code == W_NONE ? 0 : -1;
}

int step_variables(spank_t spank, const struct variables *variables, struct refusal *why)
{
	return add_variables(spank, variables, true, why);
}

int step_environment(spank_t spank, const struct policy *policy, const struct variables *variables,
		     const char *workdir, struct refusal *why)
{
	const char *const own[][2] = {
		{"HOME", workdir ? workdir : "/tmp"}, {"LOGNAME", policy->tenant}, {"USER", policy->tenant},
		{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {"SHELL", "/bin/sh"},
		{"TMPDIR", "/tmp"},
	};
	bool dropped;

	do {
		if (drop_one(spank, policy, &dropped, why))
			return -1;
	} while (dropped);
	if (add_variables(spank, variables, false, why))
		return -1;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (own[i][1] && set(spank, own[i][0], own[i][1], false, why))
			return -1;
	return 0;
}
