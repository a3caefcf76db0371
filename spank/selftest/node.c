#define _GNU_SOURCE
#include "node.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../lines.h"
#include "../policies.h"
#include "../trust.h"

static void look_at_kernel(struct findings *findings)
{
	unsigned major = 0, minor = 0;
	struct utsname is = {0};

	found(findings, "kernel", !uname(&is) && sscanf(is.release, "%u.%u", &major, &minor) == 2 &&
	      (major > 5 || (major == 5 && minor >= 12)), "%s, and 5.12 is needed", is.release);
}

static void look_at_rights(struct findings *findings)
{
	static const struct {
		const char *name;
		int number;
	} needed[] = {
		{"SYS_ADMIN", CAP_SYS_ADMIN}, {"SYS_CHROOT", CAP_SYS_CHROOT}, {"MKNOD", CAP_MKNOD}, {"SETPCAP", CAP_SETPCAP},
		{"NET_ADMIN", CAP_NET_ADMIN}, {"SETUID", CAP_SETUID}, {"SETGID", CAP_SETGID},
	};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2] = {0};

	syscall(SYS_capget, &header, has);
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!(has[CAP_TO_INDEX(needed[i].number)].effective & CAP_TO_MASK(needed[i].number))) {
			found(findings, "rights", false, "%s is missing", needed[i].name);
			return;
		}
	found(findings, "rights", true, "as walls need them");
}

/* Of a file that was read without refusal. */
static bool range_of_tenants(const struct trusted *file)
{
	char *words[LINE_WORDS + 1];
	struct refusal why = {0};
	struct lines lines;
	bool some = false;

	if (lines_open(&lines, file->text, file->length, &why))
		return false;
	while (!some && lines_next(&lines, words, &why) > 0)
		some = class_named(words[2]) == CLASS_TENANT;
	lines_close(&lines);
	return some;
}

static bool reads(int directory, const char *name, const char *path, bool *tenants, struct refusal *why)
{
	struct trusted file = {0};
	enum user_class class = CLASS_NONE;
	struct refusal wrong = {0};
	struct policy policy = {0};
	bool ranges = !strcmp(name, "ranges");
	int there;

	snprintf(file.path, sizeof(file.path), "%s/%s", path, name);
	there = trust_file(directory, name, &file, why);
	if (there > 0 && (ranges ? ranges_read(file.text, file.length, 0, &class, &wrong)
				 : policy_read(file.text, file.length, &policy, &wrong)))
		refuse(why, wrong.code, wrong.error, "policy %s: %s", file.path, wrong.what);
	else if (!there && ranges)
		refuse(why, W_POLICY, 0, "policy %s: there is no file \"ranges\"", path);
	else if (there > 0 && !strcmp(name, "default") && policy.class == CLASS_TENANT)
		refuse(why, W_POLICY, 0, "policy %s: a tenant has a file of its own", file.path);
	if (there > 0 && why->code == W_NONE && (ranges ? range_of_tenants(&file) : policy.class == CLASS_TENANT))
		*tenants = true;
	free(file.text);
	policy_free(&policy);
	return there > 0 && why->code == W_NONE;
}

static bool is_uid(const char *name)
{
	return !strncmp(name, "uid-", 4) && name[4] && strspn(name + 4, "0123456789") == strlen(name + 4);
}

static void judge(struct findings *findings, const char *name, const struct refusal *why, const char *good)
{
	char line[768];

	refusal_words(why, line, sizeof(line));
	found(findings, name, why->code == W_NONE, "%.230s", why->code == W_NONE ? good : line);
}

/* A uid whose file cannot be read is refused by the plugin, and nobody else is. */
static void look_at_uids(struct findings *findings, int directory, const char *path, bool *tenants)
{
	struct refusal why = {0};
	char link[64], good[64];
	int uids = 0;
	DIR *all;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
	all = opendir(link);
	if (!all)
		refuse(&why, W_POLICY, errno, "policy %s", path);
	for (struct dirent *one; all && why.code == W_NONE && (one = readdir(all));)
		if (is_uid(one->d_name))
			uids += reads(directory, one->d_name, path, tenants, &why);
	if (all)
		closedir(all);
	snprintf(good, sizeof(good), "those of %d uids", uids);
	judge(findings, UIDS_FINDING, &why, good);
}

static bool look_at_policies(struct findings *findings, const char *path)
{
	bool tenants = false;
	struct refusal why = {0};
	int directory = trust_way(path, &why);

	if (directory >= 0) {
		reads(directory, "ranges", path, &tenants, &why);
		reads(directory, "default", path, &tenants, &why);
	}
	judge(findings, POLICIES_FINDING, &why, "as the plugin wants them");
	if (directory >= 0) {
		look_at_uids(findings, directory, path, &tenants);
		close(directory);
	}
	return tenants;
}

bool node_look(struct findings *findings, const char *policies)
{
	look_at_kernel(findings);
	look_at_rights(findings);
	return look_at_policies(findings, policies);
}
