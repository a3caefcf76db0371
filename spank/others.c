#define _GNU_SOURCE
#include "others.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "mounts.h"

static const char before_tasks[] = "slurm_spank_user_init";
static const char *const of_steps[] = {before_tasks, "slurm_spank_task_init_privileged", "slurm_spank_task_init"};

static int node = -1, unarmed = -1; /* two roots of the same files */

/* Where a library lies in memory. */
static const void *base_of(const void *address)
{
	Dl_info found;

	return dladdr(address, &found) ? found.dli_fbase : NULL;
}

/* Asked as Slurm asks it. Libraries that a plugin needs are found by that, too; they have a turn of their own. */
static bool has(const struct link_map *library, const char *hook)
{
	void *handle = *library->l_name ? dlopen(library->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL, *found;
	bool own;

	if (!handle)
		return false; /* the program itself, or the kernel's */
	found = dlsym(handle, hook);
	own = found && base_of(found) == base_of(library->l_ld);
	dlclose(handle);
	return own;
}

static bool has_any(const struct link_map *library)
{
	for (size_t i = 0; i < sizeof(of_steps) / sizeof(*of_steps); i++)
		if (has(library, of_steps[i]))
			return true;
	return false;
}

static bool is_ours(const struct link_map *library)
{
	return base_of(library->l_ld) == base_of(before_tasks);
}

/* All that is loaded, in the order in which it was: plugins in that of plugstack.conf. */
static const struct link_map *loaded(struct refusal *why)
{
	struct link_map *first = NULL;
	void *program = dlopen(NULL, RTLD_LAZY);

	if (!program || dlinfo(program, RTLD_DI_LINKMAP, &first) || !first) {
		refuse(why, W_SLURM, 0, "nobody says which plugins slurmstepd has loaded");
		return NULL;
	}
	dlclose(program);
	return first;
}

bool others_named(const char *part)
{
	struct refusal unknown = {0};
	const struct link_map *library = loaded(&unknown);

	for (; library; library = library->l_next) {
		const char *slash = strrchr(library->l_name, '/');

		if (strstr(slash ? slash : library->l_name, part))
			return true;
	}
	return false;
}

int others_check(struct refusal *why)
{
	const struct link_map *library = loaded(why);

	for (; library && !is_ours(library); library = library->l_next)
		if (has_any(library))
			return refuse(why, W_POLICY, 0, "plugstack.conf: %.256s comes before penstock.so, and could run "
				      "programs on the node for a tenant", library->l_name);
	return library ? 0 : refuse(why, W_SLURM, 0, "nobody says which plugins slurmstepd has loaded");
}

static int look_for_any(bool *found, struct refusal *why)
{
	const struct link_map *library = loaded(why);

	*found = false;
	if (!library)
		return -1;
	for (; library && !*found; library = library->l_next)
		*found = !is_ours(library) && has(library, before_tasks);
	return 0;
}

/* The working directory follows, by its name: as it is it would be a way out. Slurm changes it meanwhile. */
static int enter(int root)
{
	char cwd[PATH_MAX];
	const char *here = getcwd(cwd, sizeof(cwd));

	if (fchdir(root) || chroot("."))
		return -1;
	return here && !chdir(here) ? 0 : chdir("/");
}

/* The tree's descriptor stays open: it is whole as long as somebody has it. */
int others_disarm(struct refusal *why)
{
	bool needed;

	if (look_for_any(&needed, why))
		return -1;
	if (!needed)
		return 0;
	node = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (node < 0)
		return refuse(why, W_ROOT, errno, "the node's own root");
	unarmed = tree_copy(node, MOUNT_ATTR_NOEXEC, true, "/", why);
	if (unarmed < 0)
		return -1;
	if (unshare(CLONE_FS) || enter(unarmed))
		return refuse(why, W_ROOT, errno, "a root without programs");
	return 0;
}

void others_rearm(void)
{
	if (unarmed < 0 || enter(node))
		return;
	close(unarmed);
	close(node);
	unarmed = node = -1;
}
