/* Which file counts for a uid, and that none is believed that others than root could have written. Root's to run. */
#include "../policies.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define FIRST "penstock-walls 1\n"
#define ADMIN FIRST "class admin\n"
#define USER FIRST "class user\nroot /shared\n"
#define RANGES FIRST "range 0-999 admin\nrange 1000-1999 user\nrange 100000-199999 tenant\n"
#define TENANT                                                                                                         \
	FIRST "class tenant\ntenant acme\noutput /out\n"                                                               \
	      "image sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef /image\n"

static char place[64]; /* above the policies */
static char walls[80];

static const char *in(const char *name)
{
	static char paths[4][256];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", walls, name);
	return path;
}

static void must(int result, const char *what)
{
	if (result == 0)
		return;
	perror(what);
	exit(2);
}

static void put(const char *name, const char *text)
{
	FILE *file;

	unlink(in(name));
	file = fopen(in(name), "w");
	must(file ? 0 : -1, name);
	must(fputs(text, file) < 0, name);
	must(fclose(file), name);
	must(chmod(in(name), 0600), name);
}

/* Policies as they should be, in a new directory. */
static void furnish(void)
{
	strcpy(place, "/run/walls.XXXXXX");
	must(mkdtemp(place) ? 0 : -1, place);
	snprintf(walls, sizeof(walls), "%s/policies", place);
	must(mkdir(walls, 0700), walls);
	put("ranges", RANGES);
	put("default", USER);
	put("uid-100001", TENANT);
}

static void class_is(uid_t uid, enum user_class wanted)
{
	struct policy policy;
	struct refusal why = {0};

	CHECK_FOR(policy_of(walls, uid, &policy, &why) == 0, why.what);
	CHECK(policy.class == wanted);
	policy_free(&policy);
}

static void refused(uid_t uid, enum code code, const char *format, ...)
{
	struct policy policy;
	struct refusal why = {0};
	char words[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	CHECK_FOR(policy_of(walls, uid, &policy, &why) == -1, words);
	CHECK_FOR(why.code == code, why.what);
	CHECK_TEXT(why.what, words);
	CHECK(policy.class == CLASS_NONE && !policy.root && !policy.images);
	policy_free(&policy);
}

static void who_has_which(void)
{
	furnish();
	class_is(100001, CLASS_TENANT);
	class_is(1000, CLASS_USER);
	class_is(5000, CLASS_USER);
	refused(100002, W_RANGE, "policy %s: tenant's uid 100002 has no file of its own", walls);
	refused(5, W_POLICY, "policy %s/default: has class user, the uid's range has class admin", walls);
	put("uid-5", ADMIN);
	class_is(5, CLASS_ADMIN);
	put("default", TENANT);
	refused(5000, W_POLICY, "policy %s/default: a tenant has a file of its own", walls);
	must(unlink(in("default")), "default");
	refused(5000, W_POLICY, "policy %s: uid 5000 has no file, and there is no default", walls);
	put("default", USER);
	must(unlink(in("ranges")), "ranges");
	refused(5000, W_POLICY, "policy %s: there is no file \"ranges\"", walls);
	class_is(100001, CLASS_TENANT);
}

static void a_slip_is_told_with_its_file(void)
{
	furnish();
	put("uid-100001", TENANT "mout /a /b\n");
	refused(100001, W_WORD, "policy %s/uid-100001: line 6: unknown word \"mout\"", walls);
	put("ranges", RANGES "x\n");
	refused(5000, W_WORD, "policy %s/ranges: line 5: unknown word \"x\"", walls);
}

/* Breaks one thing about a path, sees that it is refused, and mends it. */
static void modes_and_owners(const char *path, uid_t uid, mode_t right)
{
	mode_t wrong[] = {right | S_IWGRP, right | S_IWOTH};

	for (size_t i = 0; i < 2; i++) {
		must(chmod(path, wrong[i]), path);
		refused(uid, W_OWNER, "policy %s: others than root may write there (mode %04o)", path, wrong[i]);
	}
	must(chmod(path, right), path);
	must(chown(path, 1234, 0), path);
	refused(uid, W_OWNER, "policy %s: belongs to uid 1234, not to root", path);
	must(chown(path, 0, 0), path);
}

static void others_could_have_written_it(void)
{
	furnish();
	modes_and_owners(walls, 100001, 0700);
	modes_and_owners(place, 100001, 0700);
	modes_and_owners(in("uid-100001"), 100001, 0600);
	modes_and_owners(in("ranges"), 5000, 0600);
	modes_and_owners(in("default"), 5000, 0600);
	class_is(100001, CLASS_TENANT);
	class_is(5000, CLASS_USER);
}

/* Puts a link to the real thing in its place. */
static void behind_a_link(const char *path, uid_t uid, const char *words)
{
	char real[300];

	snprintf(real, sizeof(real), "%s.real", path);
	must(rename(path, real), path);
	must(symlink(real, path), path);
	refused(uid, W_POLICY, "policy %s", words);
	must(unlink(path), path);
	must(rename(real, path), path);
}

static void links_lead_nowhere(void)
{
	furnish();
	behind_a_link(in("uid-100001"), 100001, in("uid-100001"));
	behind_a_link(in("ranges"), 5000, in("ranges"));
	behind_a_link(in("default"), 5000, in("default"));
	behind_a_link(walls, 100001, walls);
	behind_a_link(place, 100001, place);
	class_is(100001, CLASS_TENANT);
	must(link(in("uid-100001"), in("second")), "second");
	refused(100001, W_OWNER, "policy %s: has a second name", in("uid-100001"));
}

static void what_is_no_file(void)
{
	furnish();
	must(unlink(in("uid-100001")), "uid-100001");
	must(mkfifo(in("uid-100001"), 0600), "uid-100001");
	refused(100001, W_OWNER, "policy %s: is no regular file", in("uid-100001"));
	must(unlink(in("uid-100001")), "uid-100001");
	must(mkdir(in("uid-100001"), 0700), "uid-100001");
	refused(100001, W_OWNER, "policy %s: is no regular file", in("uid-100001"));
	must(rmdir(in("uid-100001")), "uid-100001");
	put("uid-100001", TENANT);
	must(truncate(in("uid-100001"), POLICY_LARGEST + 1), "uid-100001");
	refused(100001, W_WORD, "policy %s: is longer than %d bytes", in("uid-100001"), POLICY_LARGEST);
}

static void a_directory_that_is_not_there(void)
{
	furnish();
	strcat(walls, "/nowhere");
	refused(5000, W_POLICY, "policy %s", walls);
	strcpy(walls, "relative/path");
	refused(5000, W_POLICY, "policy relative/path: no plain absolute path");
	strcpy(walls, "/run/../run");
	refused(5000, W_POLICY, "policy /run/../run: no plain absolute path");
}

/* As kubelet lays out a ConfigMap: links at the top, files in a directory of the day, all of it mounted read-only. */
static void furnish_volume(const char *data)
{
	furnish();
	must(mkdir(in("..2026_11_16"), 0755), "..2026_11_16");
	must(mkdir(in("plain"), 0755), "plain");
	must(rename(in("uid-100001"), in("..2026_11_16/uid-100001")), "uid-100001");
	must(rename(in("ranges"), in("..2026_11_16/ranges")), "ranges");
	must(rename(in("default"), in("..2026_11_16/default")), "default");
	must(symlink(data, in("..data")), "..data");
	must(symlink("..data/uid-100001", in("uid-100001")), "uid-100001");
	must(symlink("..data/ranges", in("ranges")), "ranges");
	must(chmod(walls, 0777), walls);
}

static void seal(void)
{
	must(mount(walls, walls, NULL, MS_BIND, NULL), walls);
	must(mount(NULL, walls, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), walls);
}

static void a_volume_of_kubernetes(void)
{
	furnish_volume("..2026_11_16");
	refused(100001, W_OWNER, "policy %s: others than root may write there (mode 0777)", walls);
	seal();
	class_is(100001, CLASS_TENANT);
	class_is(5000, CLASS_USER);
	refused(100002, W_RANGE, "policy %s: tenant's uid 100002 has no file of its own", walls);
	must(umount(walls), walls);
	must(chmod(in("..2026_11_16"), 0775), "..2026_11_16");
	seal();
	refused(100001, W_OWNER, "policy %s: others than root may write there (mode 0775)", walls);
	must(umount(walls), walls);
	must(chmod(in("..2026_11_16"), 0755), "..2026_11_16");
	must(lchown(in("..data"), 1234, 0), "..data");
	seal();
	refused(100001, W_OWNER, "policy %s: others than root may write there (mode 0777)", walls);
	must(umount(walls), walls);
}

static void volumes_that_lead_elsewhere(void)
{
	static const char *const elsewhere[] = {"/etc", "..2026_11_16/below", "..", "../..2026_11_16", "..nowhere", "plain"};

	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++) {
		furnish_volume(elsewhere[i]);
		seal();
		refused(100001, W_POLICY, "policy %s/..data", walls);
		must(umount(walls), walls);
	}
}

static void nothing_stays_open(void)
{
	int before = open("/", O_RDONLY), after;

	must(before < 0, "open");
	close(before);
	who_has_which();
	others_could_have_written_it();
	a_volume_of_kubernetes();
	volumes_that_lead_elsewhere();
	after = open("/", O_RDONLY);
	CHECK(before == after);
	close(after);
}

int main(void)
{
	umask(077);
	who_has_which();
	a_slip_is_told_with_its_file();
	others_could_have_written_it();
	links_lead_nowhere();
	what_is_no_file();
	a_directory_that_is_not_there();
	a_volume_of_kubernetes();
	volumes_that_lead_elsewhere();
	nothing_stays_open();
	return checked();
}
