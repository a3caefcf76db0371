#define _GNU_SOURCE
#include "layers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mounts.h"

static int make_all(int scratch, struct refusal *why)
{
	static const char *const names[] = {"points", "image", "upper", "work"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (mkdirat(scratch, names[i], 0755))
			return refuse(why, W_ROOT, errno, "layers of the new root");
	return 0;
}

/* What lies in another view gets its place there. */
static bool nested(const struct views *views, const struct view *one)
{
	struct views others = {.all = views->all, .count = (size_t)(one - views->all)};

	return views_show(&others, one->target);
}

/* A directory that is empty whatever the image has there; of a file the one above counts anyway. */
static int make_opaque(const struct view *view, int points, struct refusal *why)
{
	int place = view->directory ? inside_open(points, view->target, O_RDONLY | O_DIRECTORY) : -1;

	if (view->directory && (place < 0 || fsetxattr(place, "trusted.overlay.opaque", "y", 1, 0)))
		refuse(why, W_ROOT, errno, "hiding what lies under %.256s", view->target);
	if (place >= 0)
		close(place);
	return why->code == W_NONE ? 0 : -1;
}

static int make_point(const struct view *view, int points, struct refusal *why)
{
	return view_place(view, points, why) || (view->tree < 0 && make_opaque(view, points, why)) ? -1 : 0;
}

static int make_points(int points, struct views *views, const char *cwd, struct refusal *why)
{
	views_sort(views);
	for (size_t i = 0; i < views->count; i++)
		if (!nested(views, &views->all[i]) && make_point(&views->all[i], points, why))
			return -1;
	return views_show(views, cwd) ? 0 : place_directory(points, cwd, why);
}

static int open_points(int scratch, struct views *views, const char *cwd, struct refusal *why)
{
	int points = openat(scratch, "points", O_PATH | O_DIRECTORY | O_CLOEXEC), made = -1;

	if (points < 0 || fchownat(scratch, "points", views->uid, views->gid, 0))
		refuse(why, W_ROOT, errno, "layers of the new root");
	else if (!places_as(views->uid, views->gid, why))
		made = make_points(points, views, cwd, why);
	if (points >= 0)
		close(points);
	return places_as(0, 0, why) ? -1 : made;
}

static int adopt_below(DIR *points, int image, struct refusal *why);

/* A directory of the points hides the owner and the mode of the image's, so it takes them over; all the way down. */
static int adopt(int point, int image, struct refusal *why)
{
	struct stat is;
	DIR *points;
	int adopted;

	if (fstat(image, &is) || fchown(point, is.st_uid, is.st_gid) || fchmod(point, is.st_mode & 07777))
		return refuse(why, W_ROOT, errno, "directories of the image");
	points = fdopendir(dup(point));
	if (!points)
		return refuse(why, W_ROOT, errno, "directories of the image");
	adopted = adopt_below(points, image, why);
	closedir(points);
	return adopted;
}

static int adopt_one(int points, int image, const char *name, struct refusal *why)
{
	int inner = openat(image, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int point = inner < 0 ? -1 : openat(points, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int adopted = point < 0 ? 0 : adopt(point, inner, why); /* where one of them has none there is nothing to hide */

	if (point >= 0)
		close(point);
	if (inner >= 0)
		close(inner);
	return adopted;
}

static int adopt_below(DIR *points, int image, struct refusal *why)
{
	for (struct dirent *entry; (entry = readdir(points));)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    adopt_one(dirfd(points), image, entry->d_name, why))
			return -1;
	return 0;
}

/* What is written to the new root itself is written here. */
static int adopt_upper(int scratch, int image, struct refusal *why)
{
	struct stat is;

	if (fstat(image, &is) || fchownat(scratch, "upper", is.st_uid, is.st_gid, 0) ||
	    fchmodat(scratch, "upper", is.st_mode & 07777, 0))
		return refuse(why, W_ROOT, errno, "directories of the image");
	return 0;
}

static int adopt_all(int scratch, int image, struct refusal *why)
{
	int points = openat(scratch, "points", O_RDONLY | O_DIRECTORY | O_CLOEXEC), adopted;

	if (points < 0)
		return refuse(why, W_ROOT, errno, "layers of the new root");
	adopted = adopt(points, image, why);
	close(points);
	return adopted ? -1 : adopt_upper(scratch, image, why);
}

/* Names are relative to the scratch directory, the working directory of this process. */
static int lay(bool writable, struct refusal *why)
{
	static const struct setting fixed[] = {{"source", "penstock"}, {"lowerdir", "points:image"}, {0}};
	static const struct setting free[] = {
		{"source", "penstock"}, {"lowerdir", "points:image"}, {"upperdir", "upper"}, {"workdir", "work"}, {0},
	};

	return tree_make("overlay", writable ? free : fixed, HARMLESS | (writable ? 0 : MOUNT_ATTR_RDONLY), why);
}

/* The root of an image, attached nowhere yet. */
static int build(int scratch, int image, struct views *views, const char *cwd, bool writable, struct refusal *why)
{
	if (root_enter(scratch, why) || make_all(scratch, why) || open_points(scratch, views, cwd, why) ||
	    tree_attach(image, scratch, "/image", why) || adopt_all(scratch, image, why))
		return -1;
	return lay(writable, why);
}

static int new_root(int image, struct views *views, const char *cwd, bool writable, struct refusal *why)
{
	static const struct setting settings[] = {{"mode", "0755"}, {0}};
	int scratch = tree_make("tmpfs", settings, HARMLESS, why), root;

	if (scratch < 0)
		return -1;
	root = build(scratch, image, views, cwd, writable, why);
	close(scratch);
	return root;
}

int image_enter(int image, struct views *views, const char *cwd, bool writable, struct refusal *why)
{
	int root = new_root(image, views, cwd, writable, why);

	if (root < 0 || root_swap(root, why) || views_attach(views, root, why))
		return -1;
	close(root);
	return 0;
}

int image_files(int image, struct views *views, const char *cwd, struct refusal *why)
{
	return new_root(image, views, cwd, true, why);
}

int files_enter(int files, struct views *views, const char *cwd, bool writable, struct refusal *why)
{
	if (root_enter(files, why) || views_attach(views, files, why))
		return -1;
	views_directory(views, files, cwd);
	if (!writable && tree_restrict(files, MOUNT_ATTR_RDONLY, "the container", why))
		return -1;
	close(files);
	return 0;
}
