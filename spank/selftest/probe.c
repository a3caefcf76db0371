/* What a tenant's program sees and may do: all of it is asked of the kernel, from inside. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trial.h"

const char *const namespaces[NAMESPACE_COUNT] = {"mnt", "pid", "ipc", "uts", "net"};

static void look_at_namespaces(struct findings *findings, char *const node[])
{
	for (int i = 0; i < NAMESPACE_COUNT; i++) {
		char path[32], name[32], own[64] = "";

		snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i]);
		snprintf(name, sizeof(name), "namespace %s", namespaces[i]);
		if (readlink(path, own, sizeof(own) - 1) < 0)
			found(findings, name, false, "%s: %s", path, strerror(errno));
		else
			found(findings, name, node[i] && strcmp(own, node[i]), "%s, the node has %s", own, node[i] ? node[i] : "");
	}
}

/* Names of a directory that are not on a list, or "". */
static void strangers(const char *path, const char *const known[], bool numbers, char *words, size_t size)
{
	DIR *all = opendir(path);

	words[0] = '\0';
	if (!all) {
		snprintf(words, size, "%s: %s", path, strerror(errno));
		return;
	}
	for (struct dirent *one; (one = readdir(all));) {
		const char *const *name = known;

		if (one->d_name[0] == '.' || (numbers && strspn(one->d_name, "0123456789") != strlen(one->d_name)))
			continue;
		while (*name && strcmp(*name, one->d_name))
			name++;
		if (!*name && !(numbers && !strcmp(path, "/proc/self/fd") && atoi(one->d_name) == dirfd(all)))
			snprintf(words + strlen(words), size - strlen(words), " %.32s", one->d_name);
	}
	closedir(all);
}

static void look_at_processes(struct findings *findings)
{
	char self[16], words[128];
	struct stat is;

	snprintf(self, sizeof(self), "%d", (int)getpid());
	strangers("/proc", (const char *const[]){self, NULL}, true, words, sizeof(words));
	found(findings, "processes", !words[0] && !getppid() && stat("/proc/kcore", &is) && stat("/proc/sys", &is),
	      words[0] ? "others are to be seen:%s" : "only its own are to be seen, and none of the kernel's tables%s", words);
}

static void look_at_descriptors(struct findings *findings)
{
	char words[128];

	strangers("/proc/self/fd", (const char *const[]){"0", "1", "2", NULL}, true, words, sizeof(words));
	found(findings, "descriptors", !words[0], words[0] ? "open:%s" : "only 0 to 2 are open%s", words);
}

static void look_for_slurm(struct findings *findings)
{
	static const char *const paths[] = {
		"/etc/slurm", "/run/slurm", "/var/run/slurm", "/var/spool/slurmd", "/var/lib/slurm", "/etc/penstock",
		"/run/penstock", "/run/munge",
	};
	struct stat is;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (!lstat(paths[i], &is)) {
			found(findings, "slurm", false, "%s is there", paths[i]);
			return;
		}
	found(findings, "slurm", true, "no socket, key or configuration of it");
}

static void look_at_image(struct findings *findings)
{
	struct statvfs root = {0};
	bool asked = !statvfs("/", &root);
	int made, opened, device;

	found(findings, "image", asked && root.f_flag & ST_RDONLY && root.f_flag & ST_NOSUID && root.f_flag & ST_NODEV,
	      "%sread-only, %snosuid, %snodev", root.f_flag & ST_RDONLY ? "" : "not ", root.f_flag & ST_NOSUID ? "" : "not ",
	      root.f_flag & ST_NODEV ? "" : "not ");
	made = open("/new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	opened = errno;
	found(findings, "image is not written to", made < 0 && opened == EROFS, "%s", made < 0 ? strerror(opened) : "it is");
	device = open("/device", O_RDONLY | O_CLOEXEC);
	opened = errno;
	found(findings, "image has no devices", device < 0 && opened == EACCES, "%s", device < 0 ? strerror(opened) : "it has");
}

static void look_at_powers(struct findings *findings)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2] = {{~0u, ~0u, ~0u}};
	unsigned long bound = 0;
	bool asked = !syscall(SYS_capget, &header, has);

	for (unsigned long cap = 0; cap < 64; cap++)
		bound += prctl(PR_CAPBSET_READ, cap) == 1 || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1;
	found(findings, "capabilities", asked && !bound && !(has[0].effective | has[0].permitted | has[0].inheritable |
	      has[1].effective | has[1].permitted | has[1].inheritable), "effective %x%08x, %lu in reach",
	      has[1].effective, has[0].effective, bound);
	/* This program is root's, with the set-uid bit. */
	found(findings, "setuid", getuid() == PROBE_UID && geteuid() == PROBE_UID && getegid() == PROBE_UID,
	      "root's program with that bit runs as %u", geteuid());
	found(findings, "no new privileges", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "no_new_privs");
	found(findings, "groups", !getgroups(0, NULL), "%d beside its own", getgroups(0, NULL));
}

struct tried {
	const char *name;
	int error; /* 0: it is allowed */
};

static struct tried tried(const char *name, long answer)
{
	return (struct tried){name, answer < 0 ? errno : 0};
}

/* Such as anybody may make on most nodes. */
static void try_calls(struct findings *findings)
{
	const struct tried all[] = {
		tried("unshare", syscall(SYS_unshare, CLONE_NEWUSER)), tried("keyctl", syscall(SYS_keyctl, 0, -3, 1)),
		tried("ptrace", syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0)), tried("setns", syscall(SYS_setns, 0, 0)),
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].error != EPERM) {
			found(findings, "system calls", false, "%s: %s", all[i].name,
			      all[i].error ? strerror(all[i].error) : "it is allowed");
			return;
		}
	found(findings, "system calls", prctl(PR_GET_SECCOMP) == 2, "filtered");
}

static void look_at_environment(struct findings *findings)
{
	bool passed = getenv("SLURM_JOB_ID"), kept = getenv("SECRET_KEY") || getenv("SLURM_CONF") || getenv("LD_PRELOAD");
	mode_t mask = umask(077);
	struct rlimit files = {0};
	bool asked = !getrlimit(RLIMIT_NOFILE, &files);

	found(findings, "environment", passed && !kept, "%s", kept ? "more than is on the list" : "what is on the list");
	found(findings, "umask", mask == 077, "%03o", mask);
	found(findings, "limits", asked && files.rlim_max == PROBE_FILES, "nofile %lu",
	      (unsigned long)files.rlim_max);
}

static void look_at_size(struct findings *findings, const char *name, const char *path, unsigned long bytes)
{
	struct statvfs is = {0};
	bool asked = !statvfs(path, &is);

	found(findings, name, asked && is.f_blocks * is.f_frsize == bytes && is.f_flag & ST_NOSUID && is.f_flag & ST_NODEV,
	      "%s has %lu bytes", path, is.f_blocks * is.f_frsize);
}

static void look_at_devices(struct findings *findings)
{
	static const char *const few[] = {
		"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "ptmx", "pts", "shm", NULL,
	};
	struct statvfs is = {0};
	char words[128];

	strangers("/dev", few, false, words, sizeof(words));
	found(findings, "devices", !words[0] && !statvfs("/dev", &is) && is.f_flag & ST_RDONLY,
	      words[0] ? "more than the usual:%s" : "the usual ones, read-only%s", words);
}

static bool is_expected(const char *place)
{
	static const char *const places[] = {"/", "/data", "/dev", "/dev/pts", "/dev/shm", "/proc", "/tmp"};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!strcmp(place, places[i]))
			return true;
	return false;
}

static void look_at_mounts(struct findings *findings)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[1024], place[512], words[256] = "";
	int count = 0;

	while (mounts && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %*s %*s %*s %511s", place) == 1 && ++count && !is_expected(place))
			snprintf(words + strlen(words), sizeof(words) - strlen(words), " %.64s", place);
	if (mounts)
		fclose(mounts);
	found(findings, "mounts", count == 7 && !words[0], "%d%s%s", count, words[0] ? ", among them" : ", as the policy says",
	      words);
}

static void look_at_network(struct findings *findings)
{
	struct if_nameindex *all = if_nameindex();
	char host[64] = "";

	found(findings, "network", all && all[0].if_name && !strcmp(all[0].if_name, "lo") && !all[1].if_name, "%s",
	      all && all[0].if_name && !all[1].if_name ? "only loopback" : "more than loopback");
	found(findings, "host name", !gethostname(host, sizeof(host)) && !strcmp(host, PROBE_HOST), "%.63s", host);
}

int probe(char *const node[])
{
	static struct findings findings;

	look_at_namespaces(&findings, node);
	look_at_processes(&findings);
	look_at_descriptors(&findings);
	look_for_slurm(&findings);
	look_at_image(&findings);
	look_at_powers(&findings);
	try_calls(&findings);
	look_at_environment(&findings);
	look_at_size(&findings, "tmp", "/tmp", PROBE_TMP);
	look_at_size(&findings, "shm", "/dev/shm", PROBE_SHM);
	look_at_devices(&findings);
	look_at_mounts(&findings);
	look_at_network(&findings);
	findings_write(&findings);
	return fflush(stdout) ? 1 : 0;
}
