#define _GNU_SOURCE
#include "views.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mounts.h"
#include "places.h"
#include "words.h"

static int grow(struct views *views, const char *target, struct refusal *why)
{
	struct view *more = reallocarray(views->all, views->count + 1, sizeof(*more));

	if (!more)
		return refuse(why, W_MEMORY, errno, "a view of %s", target);
	views->all = more;
	more[views->count].target = strdup(target);
	if (!more[views->count].target)
		return refuse(why, W_MEMORY, errno, "a view of %s", target);
	return 0;
}

int views_add(struct views *views, int tree, bool directory, const char *target, struct refusal *why)
{
	if (tree < 0)
		return -1;
	if (grow(views, target, why)) {
		close(tree);
		return -1;
	}
	views->all[views->count].tree = tree;
	views->all[views->count++].directory = directory;
	return 0;
}

int views_hide(struct views *views, bool directory, const char *target, struct refusal *why)
{
	if (grow(views, target, why))
		return -1;
	views->all[views->count].tree = -1;
	views->all[views->count++].directory = directory;
	return 0;
}

int views_take(struct views *views, int fd, const char *target, uint64_t attributes, struct refusal *why)
{
	struct stat is;
	int tree = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &is))
		refuse(why, W_SOURCE, errno, "what is for %s", target);
	else
		tree = tree_copy(fd, attributes, S_ISDIR(is.st_mode), target, why);
	close(fd);
	return tree < 0 ? -1 : views_add(views, tree, S_ISDIR(is.st_mode), target, why);
}

int views_node(struct views *views, const char *path, const char *target, uint64_t attributes, struct refusal *why)
{
	return views_take(views, source_open(path, why), target, attributes, why);
}

int views_usual(struct views *views, const char *path, uint64_t attributes, struct refusal *why)
{
	int fd;

	if (views_has(views, path))
		return 0;
	fd = open(path, O_PATH | O_CLOEXEC); /* the node's own links are its owner's */
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return refuse(why, W_SOURCE, errno, "%s of the node", path);
	return views_take(views, fd, path, attributes, why);
}

bool views_has(const struct views *views, const char *path)
{
	for (size_t i = 0; i < views->count; i++)
		if (views->all[i].tree >= 0 && !strcmp(views->all[i].target, path))
			return true;
	return false;
}

bool views_show(const struct views *views, const char *path)
{
	for (size_t i = 0; i < views->count; i++)
		if (views->all[i].tree >= 0 && word_is_within(path, views->all[i].target))
			return true;
	return false;
}

static int by_target(const void *one, const void *other)
{
	return strcmp(((const struct view *)one)->target, ((const struct view *)other)->target);
}

void views_sort(struct views *views)
{
	if (views->count)
		qsort(views->all, views->count, sizeof(*views->all), by_target);
}

int places_as(uid_t uid, gid_t gid, struct refusal *why)
{
	setfsgid(gid);
	setfsuid(uid);
	/* They tell what was before, and no more than that. */
	if (setfsuid((uid_t)-1) != (int)uid || setfsgid((gid_t)-1) != (int)gid)
		return refuse(why, W_MOUNT, 0, "uid %u, for places of the new root", uid);
	return 0;
}

int view_place(const struct view *view, int root, struct refusal *why)
{
	return view->directory ? place_directory(root, view->target, why) : place_file(root, view->target, why);
}

void views_directory(const struct views *views, int root, const char *path)
{
	struct refusal why = {0};

	if (!views_show(views, path) && !places_as(views->uid, views->gid, &why))
		place_directory(root, path, &why);
	places_as(0, 0, &why);
}

/* What root chose lies where root chose it, in a root that others write to; nobody's link leads it elsewhere. */
static int attach_as_root(const struct view *view, int root, struct refusal *why)
{
	int place = place_of_root(root, view->target, view->directory, why);
	int attached = place < 0 ? -1 : tree_attach_at(view->tree, place, view->target, why);

	if (place >= 0)
		close(place);
	return attached;
}

static int attach(const struct view *view, uid_t uid, int root, struct refusal *why)
{
	if (!uid)
		return attach_as_root(view, root, why);
	return view_place(view, root, why) || tree_attach(view->tree, root, view->target, why) ? -1 : 0;
}

static int attach_all(struct views *views, int root, struct refusal *why)
{
	views_sort(views);
	for (size_t i = 0; i < views->count; i++)
		if (views->all[i].tree >= 0 && attach(&views->all[i], views->uid, root, why))
			return -1;
	return 0;
}

int views_attach(struct views *views, int root, struct refusal *why)
{
	int attached = places_as(views->uid, views->gid, why) ? -1 : attach_all(views, root, why);

	return places_as(0, 0, why) ? -1 : attached;
}
