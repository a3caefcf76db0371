#define _GNU_SOURCE
#include "walls.h"

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine.h"
#include "devices.h"
#include "image.h"
#include "layers.h"
#include "mounts.h"
#include "slurm_files.h"
#include "trust.h"
#include "views.h"
#include "words.h"

int walls_kinds(const struct policy *policy)
{
	return CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | (policy->host_network ? 0 : CLONE_NEWNET);
}

int walls_check(const struct step *step, struct refusal *why)
{
	const struct options *options = step->options;

	if (options->mount_count || options->name || options->save || options->remap_root ||
	    options->mount_home > 0 || options->writable > 0)
		return refuse(why, W_OPTION, 0, "tenants may say --container-image and --container-workdir only");
	return 0;
}

/* The image that the step asks for by its digest, if the policy grants it; the first one if it asks for none. */
static const struct policy_image *granted(const struct step *step, struct refusal *why)
{
	const struct policy *policy = step->policy;

	for (size_t i = 0; i < policy->image_count; i++)
		if (!step->options->image || !strcmp(step->options->image, policy->images[i].digest))
			return &policy->images[i];
	refuse(why, W_IMAGE, 0, "image %.128s is not granted", step->options->image ? step->options->image : "(none)");
	return NULL;
}

static int read_variables(const struct step *step, int above, const char *path, struct refusal *why)
{
	struct trusted file = {0};
	char name[NAME_MAX + 1];
	int found;

	snprintf(file.path, sizeof(file.path), "%.480s" VARIABLES_BESIDE, path);
	if ((size_t)snprintf(name, sizeof(name), "%s" VARIABLES_BESIDE, strrchr(path, '/') + 1) >= sizeof(name))
		return 0; /* no file can be called so */
	found = trust_beside(above, name, &file, why);
	if (found > 0)
		found = variables_take(step->variables, file.text, file.length, file.path, why);
	free(file.text);
	return found < 0 ? -1 : 0;
}

/* Whoever removes images asks for this lock. Where there are no locks nobody can ask. */
static int lock(int image, const char *path, struct refusal *why)
{
	if (flock(image, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		return refuse(why, W_IMAGE, errno, "image %s is being removed", path);
	return 0;
}

/* What lies in a store was measured once, and nobody but root writes there: its name tells as much as its bytes would. */
static int check_digest(const struct policy_image *image, struct refusal *why)
{
	if (!word_may_be_image(image->path, image->digest))
		return refuse(why, W_IMAGE, 0, "image %s: what lies there is not %s", image->path, image->digest);
	return 0;
}

/* The descriptor stays open: the lock goes with it. */
int walls_hold(const struct step *step, struct refusal *why)
{
	const struct policy_image *image = granted(step, why);
	int above = -1, fd = image && !check_digest(image, why) ? trust_image(image->path, &above, why) : -1;

	if (fd >= 0 && !lock(fd, image->path, why))
		read_variables(step, above, image->path, why);
	if (above >= 0)
		close(above);
	return why->code == W_NONE ? 0 : -1;
}

/* Once more, for trees are copied within one mount namespace only; who could have swapped it is root. */
static int open_image(const struct step *step, struct refusal *why)
{
	const struct policy_image *image = granted(step, why);
	int above = -1, fd = image ? trust_image(image->path, &above, why) : -1, tree = -1;

	if (fd >= 0) {
		tree = image_tree(fd, -1, image->path, why);
		close(fd);
	}
	if (above >= 0)
		close(above);
	return tree;
}

static int add_mounts(struct views *views, const struct policy *policy, struct refusal *why)
{
	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct policy_mount *mount = &policy->mounts[i];
		uint64_t attributes = HARMLESS | (mount->writable ? 0 : MOUNT_ATTR_RDONLY);

		if (views_node(views, mount->source, mount->target, attributes, why))
			return -1;
	}
	return 0;
}

/* Drivers of devices talk through /proc and /sys; without devices nobody needs more than the room's own processes. */
static int add_kernel(struct views *views, const struct policy *policy, struct refusal *why)
{
	static const struct setting bare[] = {{"hidepid", "invisible"}, {"subset", "pid"}, {0}};
	static const struct setting whole[] = {{"hidepid", "invisible"}, {0}};
	bool devices = policy->device_count;

	if (views_add(views, tree_make("proc", devices ? whole : bare, INERT, why), true, "/proc", why))
		return -1;
	if (!devices)
		return 0;
	return views_add(views, tree_make("sysfs", NULL, INERT | MOUNT_ATTR_RDONLY, why), true, "/sys", why);
}

static int add_memory(struct views *views, const struct policy *policy, struct refusal *why)
{
	if (!views_has(views, "/tmp") && memory_directory(views, "/tmp", policy->tmp_bytes, HARMLESS, why))
		return -1;
	return memory_directory(views, "/dev/shm", policy->shm_bytes, HARMLESS, why);
}

static int gather(struct views *views, const struct step *step, struct refusal *why)
{
	const struct policy *policy = step->policy;

	return add_mounts(views, policy, why) || add_kernel(views, policy, why) || devices_minimal(views, why) ||
		       devices_granted(views, policy, why) || add_memory(views, policy, why) ||
		       view_script(views, step->script, why)
	       ? -1 : 0;
}

static int loopback_up(struct refusal *why)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed;

	if (fd < 0)
		return refuse(why, W_NAMESPACE, errno, "the loopback of the room");
	failed = ioctl(fd, SIOCSIFFLAGS, &lo);
	if (failed)
		refuse(why, W_NAMESPACE, errno, "the loopback of the room");
	close(fd);
	return failed ? -1 : 0;
}

static int settle(const struct step *step, struct refusal *why)
{
	if (sethostname(step->host, strlen(step->host)))
		return refuse(why, W_NAMESPACE, errno, "the name of the room");
	if (!step->policy->host_network && loopback_up(why))
		return -1;
	return confine_keeper(why);
}

int walls_furnish(void *what, struct refusal *why)
{
	const struct step *step = what;
	struct views views = {0};
	int image = open_image(step, why);

	if (image < 0 || gather(&views, step, why) || image_enter(image, &views, step->cwd, false, why))
		return -1;
	for (size_t i = 0; i < views.count; i++)
		if (!strcmp(views.all[i].target, "/dev") && tree_restrict(views.all[i].tree, MOUNT_ATTR_RDONLY, "/dev", why))
			return -1;
	return settle(step, why);
}
