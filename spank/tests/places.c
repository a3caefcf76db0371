/* Where root puts something, in a root where others put links. Root's to run. */
#include "../places.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define SOMEBODY 2001

static char place[64];
static int root;

static void must(int result, const char *what)
{
	if (result == 0)
		return;
	perror(what);
	exit(2);
}

static void furnish(void)
{
	strcpy(place, "/run/places.XXXXXX");
	must(mkdtemp(place) ? 0 : -1, place);
	must(chdir(place) || chmod(".", 0755) || mkdir("etc", 0755) || mkdir("usr", 0755) || mkdir("usr/lib", 0755), place);
	must(mkdir("open", 0777) || chmod("open", 0777) || mkdir("sticky", 0777) || chmod("sticky", 01777), place);
	root = open(".", O_RDONLY | O_DIRECTORY);
	must(root < 0, place);
}

static void link_of(uid_t uid, const char *target, const char *name)
{
	must(symlink(target, name) || lchown(name, uid, uid), name);
}

/* Whether that place is found, and is what `at` names. */
static bool lies(const char *path, const char *at)
{
	struct refusal why = {0};
	struct stat is, there;
	int fd = place_of_root(root, path, true, &why);
	bool same = fd >= 0 && !fstat(fd, &is) && !lstat(at, &there) && is.st_ino == there.st_ino;

	CHECK_FOR((fd >= 0) == (why.code == W_NONE), path);
	if (fd >= 0)
		close(fd);
	return same;
}

static void refused(const char *path, const char *reason)
{
	struct refusal why = {0};

	CHECK_FOR(place_of_root(root, path, true, &why) == -1, path);
	CHECK(why.code == W_MOUNT);
	CHECK_FOR(strstr(why.what, reason) != NULL, why.what);
}

static void what_is_missing_is_made(void)
{
	struct refusal why = {0};
	struct stat is;
	int fd = place_of_root(root, "/new/below/file", false, &why);

	CHECK(fd >= 0 && !fstat(fd, &is) && S_ISREG(is.st_mode) && !close(fd));
	CHECK(lies("/new/deep/er", "new/deep/er"));
	CHECK(lies("/etc", "etc"));
	refused("/new/below/file/in", "/new/below/file/in");
}

static void roots_links_are_followed(void)
{
	link_of(0, "usr/lib", "lib");
	link_of(0, "/usr/../usr//./lib/", "usr/absolute");
	link_of(0, "../../../../../etc", "usr/up");
	link_of(0, "missing/x", "dangling");
	link_of(0, "/etc", "sticky/link");
	CHECK(lies("/lib", "usr/lib"));
	CHECK(lies("/lib/a", "usr/lib/a"));
	CHECK(lies("/usr/absolute/b", "usr/lib/b"));
	CHECK(lies("/usr/up", "etc"));
	CHECK(lies("/usr/up/c", "etc/c"));
	CHECK(lies("/dangling/y", "missing/x/y"));
	CHECK(lies("/sticky/link", "etc"));
}

static void others_links_are_not(void)
{
	link_of(SOMEBODY, "/etc", "open/theirs");
	link_of(0, "/etc", "open/roots");
	link_of(SOMEBODY, "/etc", "given");
	link_of(0, "open/theirs", "onward");
	refused("/open/theirs", "/open/theirs is a link of uid 2001 in a directory of uid 0, mode 0777");
	refused("/open/theirs/new", "/open/theirs is a link of uid 2001");
	refused("/open/roots", "/open/roots is a link of uid 0");
	refused("/given", "/given is a link of uid 2001");
	refused("/onward/new", "/open/theirs is a link of uid 2001");
	CHECK(access("etc/new", F_OK));
}

static void links_without_an_end_are_refused(void)
{
	struct refusal why = {0};

	link_of(0, "loop", "loop");
	CHECK(place_of_root(root, "/loop", true, &why) == -1 && why.code == W_MOUNT && why.error);
	why = (struct refusal){0};
	link_of(0, "longer/and", "longer");
	CHECK(place_of_root(root, "/longer", true, &why) == -1 && why.code == W_MOUNT && why.error);
}

int main(void)
{
	furnish();
	what_is_missing_is_made();
	roots_links_are_followed();
	others_links_are_not();
	links_without_an_end_are_refused();
	return checked();
}
