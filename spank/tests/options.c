/* Container options are read as Pyxis reads them, and nothing in them is ever code. */
#include "../options.h"

#include "check.h"

static int take(struct options *options, enum option which, const char *value, struct refusal *why)
{
	*why = (struct refusal){0};
	return options_take(options, which, value, why);
}

static void taken(struct options *options, enum option which, const char *value)
{
	struct refusal why;

	CHECK_FOR(take(options, which, value, &why) == 0, why.what);
}

static void refused_with(enum option which, const char *value, const char *words)
{
	struct options options = OPTIONS_UNSAID;
	struct refusal why;

	CHECK_FOR(take(&options, which, value, &why) == -1, value);
	CHECK_FOR(why.code == W_OPTION, why.what);
	CHECK_TEXT(why.what, words);
	CHECK(!options.image && !options.mount_count && !options.environment && !options.name && !options.workdir);
	options_free(&options);
}

static void mount_is(const struct option_mount *mount, const char *source, const char *target, bool readonly,
		     bool recursive)
{
	CHECK_TEXT(mount->source, source);
	CHECK_TEXT(mount->target, target);
	CHECK_FOR(mount->readonly == readonly && mount->recursive == recursive, source);
}

static void mounts(void)
{
	struct options options = OPTIONS_UNSAID;

	taken(&options, OPTION_MOUNTS, "/data:/mnt/data:ro,/models,/a//b/:/c/./d");
	taken(&options, OPTION_MOUNTS, "./work:/work:rw+bind+nosuid+nodev+rprivate+x-create=dir,/data:/mnt/data:ro");
	CHECK(options.mount_count == 4);
	mount_is(&options.mounts[0], "/data", "/mnt/data", true, true);
	mount_is(&options.mounts[1], "/models", "/models", false, true);
	mount_is(&options.mounts[2], "/a/b", "/c/d", false, true);
	mount_is(&options.mounts[3], "./work", "/work", false, false);
	options_free(&options);
	CHECK(!options.mounts && !options.mount_count);
}

static void what_a_shell_would_expand_is_just_bytes(void)
{
	struct options options = OPTIONS_UNSAID;

	taken(&options, OPTION_MOUNTS, "/$(id)/`id`/${HOME}/*:/x \"'\\;|&");
	CHECK(options.mount_count == 1);
	mount_is(&options.mounts[0], "/$(id)/`id`/${HOME}/*", "/x \"'\\;|&", false, true);
	options_free(&options);
}

static void memory(void)
{
	struct options options = OPTIONS_UNSAID;

	taken(&options, OPTION_MOUNTS, "tmpfs:/b,tmpfs:/c:ro,tmpfs:/b");
	CHECK(options.mount_count == 2);
	mount_is(&options.mounts[0], "tmpfs", "/b", false, true);
	mount_is(&options.mounts[1], "tmpfs", "/c", true, true);
	options_free(&options);
}

static void wrong_mounts(void)
{
	refused_with(OPTION_MOUNTS, "", "--container-mounts: wrong path \"\"");
	refused_with(OPTION_MOUNTS, NULL, "--container-mounts: wrong path \"\"");
	refused_with(OPTION_MOUNTS, "/a:/b,", "--container-mounts: wrong path \"\"");
	refused_with(OPTION_MOUNTS, "/a:/b,,/c", "--container-mounts: wrong path \"\"");
	refused_with(OPTION_MOUNTS, ":/b", "--container-mounts: wrong path \"\"");
	refused_with(OPTION_MOUNTS, "/a:", "--container-mounts: no absolute path to mount at: \"\"");
	refused_with(OPTION_MOUNTS, "/a:b", "--container-mounts: no absolute path to mount at: \"b\"");
	refused_with(OPTION_MOUNTS, "./a", "--container-mounts: no absolute path to mount at: \"./a\"");
	refused_with(OPTION_MOUNTS, "data:/b", "--container-mounts: wrong path \"data\"");
	refused_with(OPTION_MOUNTS, "umount:/b", "--container-mounts: wrong path \"umount\"");
	refused_with(OPTION_MOUNTS, "tmpfs", "--container-mounts: no absolute path to mount at: \"tmpfs\"");
	refused_with(OPTION_MOUNTS, "tmpfs:/b:size=1G", "--container-mounts: unknown flag \"size=1G\"");
	refused_with(OPTION_MOUNTS, "tmpfs/x:/b", "--container-mounts: wrong path \"tmpfs/x\"");
	refused_with(OPTION_MOUNTS, "/a/../b:/c", "--container-mounts: wrong path \"/a/../b\"");
	refused_with(OPTION_MOUNTS, "/a:/b/..", "--container-mounts: wrong path \"/b/..\"");
	refused_with(OPTION_MOUNTS, "/a:/", "--container-mounts: nothing can be mounted at \"/\"");
	refused_with(OPTION_MOUNTS, "/a:/b:", "--container-mounts: unknown flag \"\"");
	refused_with(OPTION_MOUNTS, "/a:/b:ro+", "--container-mounts: unknown flag \"\"");
	refused_with(OPTION_MOUNTS, "/a:/b:suid", "--container-mounts: unknown flag \"suid\"");
	refused_with(OPTION_MOUNTS, "/a:/b:ro:x", "--container-mounts: unknown flag \"ro:x\"");
	refused_with(OPTION_MOUNTS, "/a:/b:noexec", "--container-mounts: unknown flag \"noexec\"");
	refused_with(OPTION_MOUNTS, "/a\nb:/b", "--container-mounts: wrong path \"/a?b\"");
}

static void a_refused_list_leaves_the_earlier_one(void)
{
	struct options options = OPTIONS_UNSAID;
	struct refusal why;

	taken(&options, OPTION_MOUNTS, "/a:/b");
	CHECK(take(&options, OPTION_MOUNTS, "/c:/d,/e:/f,oops", &why) == -1);
	CHECK(options.mount_count == 1);
	taken(&options, OPTION_ENV, "A,B");
	CHECK(take(&options, OPTION_ENV, "C,1", &why) == -1);
	CHECK(options.environment_count == 2);
	CHECK_TEXT(options.environment[0], "A");
	options_free(&options);
}

static void too_many(void)
{
	struct options options = OPTIONS_UNSAID;
	struct refusal why;
	char value[32], names[2 * (OPTION_NAMES_MOST + 1)];

	for (unsigned i = 0; i < OPTION_MOUNTS_MOST; i++) {
		snprintf(value, sizeof(value), "/a:/%u", i);
		taken(&options, OPTION_MOUNTS, value);
	}
	CHECK(take(&options, OPTION_MOUNTS, "/one:/more", &why) == -1);
	CHECK_TEXT(why.what, "--container-mounts: too many mounts, from here on: \"/one:/more\"");
	CHECK(options.mount_count == OPTION_MOUNTS_MOST);
	for (size_t i = 0; i < sizeof(names); i++)
		names[i] = i % 2 ? ',' : 'A';
	names[sizeof(names) - 1] = '\0';
	CHECK(take(&options, OPTION_ENV, names, &why) == -1);
	CHECK_TEXT(why.what, "--container-env: too many names, from here on: \"A\"");
	options_free(&options);
}

static void images(void)
{
	static const char *const right[] = {
		"debian", "debian:13", "docker://registry.example:5000/a/b@sha256:00", "user@registry.example#a/b:1", "/a/image.sqsh",
		"./image.sqsh",
	};
	struct options options = OPTIONS_UNSAID;

	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		taken(&options, OPTION_IMAGE, right[i]);
		CHECK_TEXT(options.image, right[i]);
	}
	options_free(&options);
	refused_with(OPTION_IMAGE, "", "--container-image: wrong name \"\"");
	refused_with(OPTION_IMAGE, "a b", "--container-image: wrong name \"a b\"");
	refused_with(OPTION_IMAGE, "a$(id)", "--container-image: wrong name \"a$(id)\"");
	refused_with(OPTION_IMAGE, "--privileged", "--container-image: wrong name \"--privileged\"");
	refused_with(OPTION_IMAGE, "../a", "--container-image: wrong path \"../a\"");
}

static void names_and_paths(void)
{
	struct options options = OPTIONS_UNSAID;

	taken(&options, OPTION_NAME, "mine");
	CHECK(options.reuse == REUSE_AUTO);
	taken(&options, OPTION_NAME, "other_1.2-x:no_exec");
	CHECK_TEXT(options.name, "other_1.2-x");
	CHECK(options.reuse == REUSE_NO_EXEC);
	taken(&options, OPTION_WORKDIR, "/work//dir/");
	CHECK_TEXT(options.workdir, "/work/dir");
	taken(&options, OPTION_SAVE, "./image.sqsh");
	CHECK_TEXT(options.save, "./image.sqsh");
	taken(&options, OPTION_SAVE, "sub/image.sqsh");
	CHECK_TEXT(options.save, "./sub/image.sqsh");
	options_free(&options);
	refused_with(OPTION_NAME, "", "--container-name: wrong name \"\"");
	refused_with(OPTION_NAME, "../x", "--container-name: wrong name \"../x\"");
	refused_with(OPTION_NAME, "a/b", "--container-name: wrong name \"a/b\"");
	refused_with(OPTION_NAME, "-a", "--container-name: wrong name \"-a\"");
	refused_with(OPTION_NAME, "a:", "--container-name: unknown word \"\"");
	refused_with(OPTION_NAME, "a:all", "--container-name: unknown word \"all\"");
	refused_with(OPTION_WORKDIR, "work", "--container-workdir: no absolute path \"work\"");
	refused_with(OPTION_SAVE, "/a/", "--container-save: no path of a file \"/a/\"");
	refused_with(OPTION_SAVE, "", "--container-save: no path of a file \"\"");
	refused_with(OPTION_SAVE, "../a", "--container-save: wrong path \"../a\"");
	refused_with(OPTION_ENV, "", "--container-env: wrong name of a variable \"\"");
	refused_with(OPTION_ENV, "A,${B}", "--container-env: wrong name of a variable \"${B}\"");
	refused_with((enum option)99, "x", "container option 99 is unknown");
}

static void switches(void)
{
	struct options options = OPTIONS_UNSAID;

	CHECK(options.mount_home == -1 && options.writable == -1 && !options.remap_root);
	taken(&options, OPTION_MOUNT_HOME, NULL);
	taken(&options, OPTION_WRITABLE, NULL);
	taken(&options, OPTION_REMAP_ROOT, NULL);
	CHECK(options.mount_home == 1 && options.writable == 1 && options.remap_root);
	taken(&options, OPTION_WRITABLE, NULL);
	options_free(&options);
	CHECK(options.mount_home == -1 && options.writable == -1 && options.remap_said == -1 && !options.remap_root);
	taken(&options, OPTION_NO_MOUNT_HOME, NULL);
	taken(&options, OPTION_READONLY, NULL);
	taken(&options, OPTION_NO_REMAP_ROOT, NULL);
	CHECK(options.mount_home == 0 && options.writable == 0 && !options.remap_root);
	options_free(&options);
}

/* As with Pyxis: nobody knows which of them is meant. */
static void a_switch_and_its_opposite(void)
{
	static const enum option pairs[][2] = {
		{OPTION_MOUNT_HOME, OPTION_NO_MOUNT_HOME}, {OPTION_REMAP_ROOT, OPTION_NO_REMAP_ROOT},
		{OPTION_READONLY, OPTION_WRITABLE},
	};

	for (size_t i = 0; i < 6; i++) {
		struct options options = OPTIONS_UNSAID;
		struct refusal why = {0};

		taken(&options, pairs[i / 2][i % 2], NULL);
		CHECK(options_take(&options, pairs[i / 2][1 - i % 2], NULL, &why) < 0 && why.code == W_OPTION);
		CHECK_FOR(strstr(why.what, "both --container-") != NULL, why.what);
		options_free(&options);
	}
}

static void the_last_one_counts(void)
{
	struct options options = OPTIONS_UNSAID;

	taken(&options, OPTION_IMAGE, "one");
	taken(&options, OPTION_IMAGE, "two");
	CHECK_TEXT(options.image, "two");
	taken(&options, OPTION_ENV, "A,B");
	taken(&options, OPTION_ENV, "C");
	CHECK(options.environment_count == 1);
	CHECK_TEXT(options.environment[0], "C");
	options_free(&options);
}

int main(void)
{
	mounts();
	what_a_shell_would_expand_is_just_bytes();
	memory();
	wrong_mounts();
	a_refused_list_leaves_the_earlier_one();
	too_many();
	images();
	names_and_paths();
	switches();
	a_switch_and_its_opposite();
	the_last_one_counts();
	return checked();
}
