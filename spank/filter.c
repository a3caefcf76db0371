#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define X32 0x40000000u
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "which system calls does this architecture have?"
#endif

#define NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define LONGEST 256
#define LOW(n) ((unsigned)offsetof(struct seccomp_data, args[n])) /* the lower half: both are little-endian */

/* Mounts and namespaces; other people's processes; what only root has a use for; what kernels were broken by. */
static const long denied[] = {
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig,
	SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_setns, SYS_unshare, SYS_open_by_handle_at,
	SYS_name_to_handle_at, SYS_fanotify_init, SYS_lookup_dcookie,
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp, SYS_pidfd_getfd,
	SYS_keyctl, SYS_add_key, SYS_request_key,
	SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
	SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module,
	SYS_reboot, SYS_swapon, SYS_swapoff, SYS_quotactl, SYS_quotactl_fd, SYS_acct, SYS_syslog, SYS_vhangup,
	SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_nfsservctl,
	SYS_sethostname, SYS_setdomainname, SYS_setgroups,
#ifdef SYS_iopl
	SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs,
#endif
};

struct program {
	struct sock_filter code[LONGEST];
	unsigned short length;
};

static void add(struct program *program, unsigned short code, unsigned value, unsigned char yes, unsigned char no)
{
	program->code[program->length++] = (struct sock_filter)BPF_JUMP(code, value, yes, no);
}

static void load(struct program *program, unsigned offset)
{
	add(program, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void answer(struct program *program, unsigned action)
{
	add(program, BPF_RET | BPF_K, action, 0, 0);
}

/* If what was loaded is that value. */
static void answer_if(struct program *program, unsigned value, unsigned action)
{
	add(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	answer(program, action);
}

static void answer_if_any(struct program *program, unsigned bits, unsigned action)
{
	add(program, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	answer(program, action);
}

static unsigned failing(int error)
{
	return SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA);
}

/* Calls of other architectures have other numbers, and nobody needs them: a list of numbers must not be got around. */
static void begin(struct program *program)
{
	load(program, offsetof(struct seccomp_data, arch));
	add(program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	answer(program, SECCOMP_RET_KILL_PROCESS);
	load(program, offsetof(struct seccomp_data, nr));
#ifdef X32
	add(program, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
	answer(program, failing(ENOSYS));
#endif
}

/* Begins what is only for one call; end() fills in how far to jump when it is another. */
static unsigned short only_for(struct program *program, long call)
{
	add(program, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 0);
	return program->length;
}

static void end(struct program *program, unsigned short began)
{
	answer(program, SECCOMP_RET_ALLOW);
	program->code[began - 1].jf = (unsigned char)(program->length - began);
}

static void judge_clone(struct program *program)
{
	unsigned short began = only_for(program, SYS_clone);

	load(program, LOW(0));
	answer_if_any(program, NAMESPACES, failing(EPERM));
	end(program, began);
	/* Its flags lie in memory, where a filter cannot look; libraries fall back to clone(). */
	answer_if(program, SYS_clone3, failing(ENOSYS));
}

/* Typing into somebody's terminal. */
static void judge_ioctl(struct program *program)
{
	unsigned short began = only_for(program, SYS_ioctl);

	load(program, LOW(1));
	answer_if(program, TIOCSTI, failing(EPERM));
	answer_if(program, TIOCLINUX, failing(EPERM));
	end(program, began);
}

/* One, or a pair of them. */
static void judge_socket(struct program *program, long call)
{
	unsigned short began = only_for(program, call);

	load(program, LOW(0));
	answer_if(program, AF_UNIX, SECCOMP_RET_ALLOW);
	answer_if(program, AF_INET, SECCOMP_RET_ALLOW);
	answer_if(program, AF_INET6, SECCOMP_RET_ALLOW);
	add(program, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
	answer(program, failing(EAFNOSUPPORT));
	load(program, LOW(2));
	answer_if(program, NETLINK_ROUTE, SECCOMP_RET_ALLOW); /* getifaddrs() asks there */
	answer(program, failing(EPROTONOSUPPORT));
	end(program, began);
}

/* Asking is fine, and so is a debugger's wish for addresses that stay. */
static void judge_personality(struct program *program)
{
	unsigned short began = only_for(program, SYS_personality);

	load(program, LOW(0));
	answer_if(program, 0xffffffff, SECCOMP_RET_ALLOW);
	answer_if(program, PER_LINUX, SECCOMP_RET_ALLOW);
	answer_if(program, ADDR_NO_RANDOMIZE, SECCOMP_RET_ALLOW);
	answer(program, failing(EPERM));
	end(program, began);
}

static int install(struct program *program, struct refusal *why)
{
	struct sock_fprog whole = {.len = program->length, .filter = program->code};

	answer(program, SECCOMP_RET_ALLOW);
	whole.len = program->length;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole))
		return refuse(why, W_CONFINE, errno, "the filter of system calls");
	return 0;
}

int filter_groups(struct refusal *why)
{
	struct program program = {.length = 0};

	begin(&program);
	answer_if(&program, SYS_setgroups, failing(0));
	return install(&program, why);
}

int filter_owners(struct refusal *why)
{
	static const long calls[] = {
		SYS_fchown, SYS_fchownat, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
		SYS_setgroups, SYS_setfsuid, SYS_setfsgid,
#ifdef SYS_chown
		SYS_chown, SYS_lchown,
#endif
	};
	struct program program = {.length = 0};

	load(&program, offsetof(struct seccomp_data, arch));
	add(&program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	answer(&program, SECCOMP_RET_ALLOW); /* a courtesy, and no wall */
	load(&program, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		answer_if(&program, (unsigned)calls[i], failing(0));
	return install(&program, why);
}

int filter_programs(struct refusal *why)
{
	struct program program = {.length = 0};

	begin(&program);
	answer_if(&program, SYS_execve, failing(EPERM));
	answer_if(&program, SYS_execveat, failing(EPERM));
	return install(&program, why);
}

int filter_calls(struct refusal *why)
{
	struct program program = {.length = 0};

	_Static_assert(sizeof(denied) / sizeof(*denied) * 2 + 64 < LONGEST, "the filter is too long");
	begin(&program);
	judge_clone(&program);
	judge_ioctl(&program);
	judge_socket(&program, SYS_socket);
	judge_socket(&program, SYS_socketpair);
	judge_personality(&program);
	for (size_t i = 0; i < sizeof(denied) / sizeof(*denied); i++)
		answer_if(&program, (unsigned)denied[i], failing(EPERM));
	return install(&program, why);
}
