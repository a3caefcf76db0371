#define _GNU_SOURCE
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "container.h"
#include "devices.h"
#include "nodelocal.h"
#include "mounts.h"
#include "slurm_files.h"
#include "views.h"
#include "words.h"

/* What people may write to on the node is no way to root's powers in the shared root; devices are for /dev. */
static uint64_t kept(const char *path)
{
	return word_is_within(path, "/dev") ? MOUNT_ATTR_NOSUID : HARMLESS;
}

static int add_kept(struct views *views, const struct policy *policy, struct refusal *why)
{
	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct policy_mount *mount = &policy->mounts[i];
		uint64_t attributes = HARMLESS | (mount->writable ? 0 : MOUNT_ATTR_RDONLY);

		if (views_node(views, mount->source, mount->target, attributes, why))
			return -1;
	}
	for (size_t i = 0; i < policy->keep_count; i++)
		if (!views_has(views, policy->keeps[i]) &&
		    views_node(views, policy->keeps[i], policy->keeps[i], kept(policy->keeps[i]), why))
			return -1;
	if (node_local_check(why))
		return -1;
	for (size_t i = 0; node_local(i); i++)
		if (views_usual(views, node_local(i), kept(node_local(i)), why))
			return -1;
	return 0;
}

static int add_devices(struct views *views, const struct policy *policy, struct refusal *why)
{
	if (!policy->minimal_devices)
		return views_usual(views, "/dev", MOUNT_ATTR_NOSUID, why);
	return devices_minimal(views, why) || views_usual(views, "/dev/shm", HARMLESS, why) ||
		       devices_granted(views, policy, why)
	       ? -1 : 0;
}

static int add_kernel(struct views *views, struct refusal *why)
{
	if (views_add(views, tree_make("proc", NULL, INERT, why), true, "/proc", why))
		return -1;
	return views_usual(views, "/sys", INERT | MOUNT_ATTR_RDONLY, why);
}

static int add_node(struct views *views, struct refusal *why)
{
	return views_usual(views, "/tmp", HARMLESS, why) ||
		       views_usual(views, "/etc/hosts", INERT | MOUNT_ATTR_RDONLY, why) ||
		       views_usual(views, "/etc/resolv.conf", INERT | MOUNT_ATTR_RDONLY, why)
	       ? -1 : 0;
}

static int gather(struct views *views, const struct step *step, struct refusal *why)
{
	return add_kept(views, step->policy, why) || add_kernel(views, why) ||
		       add_devices(views, step->policy, why) || add_node(views, why) || view_client(views, why) ||
		       view_script(views, step->script, why)
	       ? -1 : 0;
}

int shared_enter(const struct step *step, struct refusal *why)
{
	struct views views = {0};
	int source = source_open(step->policy->root, why), root;

	if (source < 0)
		return -1;
	root = tree_copy(source, 0, true, step->policy->root, why);
	close(source);
	if (root < 0)
		return -1;
	if (gather(&views, step, why) || root_enter(root, why) || views_attach(&views, root, why))
		return -1;
	close(root);
	return 0;
}

int shared_furnish(void *what, struct refusal *why)
{
	const struct step *step = what;

	if (shared_enter(step, why))
		return -1;
	if (step->files >= 0)
		return container_enter_again(step, step->files, why);
	return step->options->image ? container_enter(step, why) : 0;
}
