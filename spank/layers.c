#define _GNU_SOURCE
#include "layers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
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

static int make_points(int points, struct views *views, const char *cwd, struct refusal *why)
{
	views_sort(views);
	for (size_t i = 0; i < views->count; i++)
		if (!nested(views, &views->all[i]) && view_place(&views->all[i], points, why))
			return -1;
	return views_show(views, cwd) ? 0 : place_directory(points, cwd, why);
}

static int open_points(int scratch, struct views *views, const char *cwd, struct refusal *why)
{
	int points = openat(scratch, "points", O_PATH | O_DIRECTORY | O_CLOEXEC), made;

	if (points < 0)
		return refuse(why, W_ROOT, errno, "layers of the new root");
	made = make_points(points, views, cwd, why);
	close(points);
	return made;
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

static int enter(int scratch, int image, struct views *views, const char *cwd, bool writable, struct refusal *why)
{
	int root;

	if (root_enter(scratch, why) || make_all(scratch, why) || open_points(scratch, views, cwd, why) ||
	    tree_attach(image, scratch, "/image", why))
		return -1;
	root = lay(writable, why);
	if (root < 0 || root_swap(root, why) || views_attach(views, root, why))
		return -1;
	close(root);
	return 0;
}

int image_enter(int image, struct views *views, const char *cwd, bool writable, struct refusal *why)
{
	static const struct setting settings[] = {{"mode", "0755"}, {0}};
	int scratch = tree_make("tmpfs", settings, HARMLESS, why), entered;

	if (scratch < 0)
		return -1;
	entered = enter(scratch, image, views, cwd, writable, why);
	close(scratch);
	return entered;
}
