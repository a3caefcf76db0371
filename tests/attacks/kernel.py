"""The kernel itself: system calls that attacks on it begin with, namespaces, and devices."""

import errno

from tests.spank.walled import TENANT, Walled

from .ground import Won, inside, lines, perl, policy

CALLS = {
    "mount": ("165, 0, 0, 0, 0, 0", errno.EPERM),
    "umount2": ("166, 0, 0", errno.EPERM),
    "pivot_root": ("155, 0, 0", errno.EPERM),
    "chroot": ("161, 0", errno.EPERM),
    "open_tree": ("428, -100, 0, 1", errno.EPERM),
    "move_mount": ("429, 0, 0, 0, 0, 0", errno.EPERM),
    "fsopen": ("430, 0, 0", errno.EPERM),
    "mount_setattr": ("442, 0, 0, 0, 0, 0", errno.EPERM),
    "setns": ("308, -1, 0", errno.EPERM),
    "unshare of users": ("272, 0x10000000", errno.EPERM),
    "unshare of mounts": ("272, 0x00020000", errno.EPERM),
    "clone of users": ("56, 0x10000000 | 17, 0, 0, 0, 0", errno.EPERM),
    "clone3": ("435, 0, 0", errno.ENOSYS),
    "keyctl": ("250, 0, -3, 0, 0, 0", errno.EPERM),
    "add_key": ("248, 0, 0, 0, 0, 0", errno.EPERM),
    "ptrace of oneself": ("101, 0, 0, 0, 0", errno.EPERM),
    "process_vm_readv": ("310, 0, 0, 0, 0, 0, 0", errno.EPERM),
    "pidfd_getfd": ("438, -1, 0, 0", errno.EPERM),
    "bpf": ("321, 0, 0, 0", errno.EPERM),
    "userfaultfd": ("323, 1", errno.EPERM),
    "io_uring": ("425, 8, 0", errno.EPERM),
    "perf": ("298, 0, 0, -1, -1, 0", errno.EPERM),
    "open_by_handle_at": ("304, -1, 0, 0", errno.EPERM),
    "init_module": ("175, 0, 0, 0", errno.EPERM),
    "kexec": ("246, 0, 0, 0, 0", errno.EPERM),
    "packets": ("41, 17, 3, 0", errno.EAFNOSUPPORT),
    "alg": ("41, 38, 5, 0", errno.EAFNOSUPPORT),
    "vsock": ("41, 40, 1, 0", errno.EAFNOSUPPORT),
    "raw netlink": ("41, 16, 3, 15", errno.EPROTONOSUPPORT),
    "a pair for packets": ("53, 17, 3, 0, 0", errno.EAFNOSUPPORT),
    "personality": ("135, 0x0400000", errno.EPERM),
    "TIOCSTI": ("16, 0, 0x5412, 0", errno.EPERM),
    "TIOCSTI, its upper half set": ("16, 0, 0x100005412, 0", errno.EPERM),
    "x32": ("0x40000000 + 39", errno.ENOSYS),
    "setgroups": ("116, 0, 0", errno.EPERM),
}


def system_calls(node: Walled) -> Won:
    """Each must fail by the filter's own word, before the kernel looks at what it was given (T21)."""
    one = 'my $r = syscall({0}); exit if {2} && !$r; print "{1}=", ($r < 0 ? $! + 0 : 0), "\\n"'
    tries = "; ".join(one.format(words, name, int("clone" in name)) for name, (words, _) in CALLS.items())
    answers = dict(line.rsplit("=", 1) for line in lines(perl(node, tries)))
    assert answers.keys() == CALLS.keys(), answers
    return [f"{name}: {answers[name]}" for name, (_, error) in CALLS.items() if int(answers[name]) != error]


def namespaces(node: Walled) -> Won:
    """A namespace of one's own, where one would be root (T21)."""
    tries = ("unshare -Ur id -u", "unshare -rm true && echo mounts", "unshare -rn true && echo net")
    return lines(inside(node, "; ".join(f"{words} 2>/dev/null" for words in tries)))


# mov eax, 20 (there that is getpid); int 0x80; ret: written into memory that may be run, and called.
I386 = r"""
$| = 1; require DynaLoader; my $code = "\xb8\x14\x00\x00\x00\xcd\x80\xc3";
my $place = syscall(9, 0, 4096, 7, 0x22, -1, 0);
open F, "+<", "/proc/self/mem" or die; sysseek F, $place, 0; syswrite F, $code or die;
print "begun\n"; DynaLoader::dl_install_xsub("main::go", $place); &go; print "survived\n"
"""


def calls_of_another_architecture(node: Walled) -> Won:
    """`int 0x80` has other numbers: whoever uses it is ended (T21)."""
    ended = node.run("srun", "perl", "-e", I386, uid=TENANT)
    assert "begun" in ended.stdout, ended
    return [line for line in lines(ended.stdout) if "survived" in line]


def devices_by_number(node: Walled) -> Won:
    """Devices of one's own making (T22)."""
    tries = "; ".join(
        f"mknod {place}/{kind}-{number} {kind} {number} 0 2>/dev/null && echo made {kind} {number} in {place}"
        for place in ("/tmp", "/data", "/dev/shm", "/dev") for kind, number in (("c", 1), ("b", 7), ("c", 195))
    )  # fmt: skip
    return lines(inside(node, tries))


def devices_of_the_node(node: Walled) -> Won:
    """What is in /dev, beside what everybody needs and what the policy grants (T22)."""
    usual = {
        "fd",
        "full",
        "null",
        "ptmx",
        "pts",
        "random",
        "shm",
        "stderr",
        "stdin",
        "stdout",
        "tty",
        "urandom",
        "zero",
    }
    without = set(inside(node, "ls -A /dev").split())
    with policy(node, "device /dev/loop-control"):
        granted = set(inside(node, "ls -A /dev").split())
    assert "loop-control" in granted
    writing = lines(
        inside(node, "touch /dev/new 2>/dev/null && echo wrote to /dev; rm -f /dev/null 2>/dev/null && echo removed")
    )
    return sorted(without - usual) + sorted(granted - usual - {"loop-control"}) + writing


def powers_of_root(node: Walled) -> Won:
    """What only root may do (T21)."""
    tries = (
        "hostname other",
        "touch /data/f && chown 0 /data/f",
        "chgrp 0 /data/f",
        "touch /etc/new",
        "renice -n -5 $$",
    )
    return lines(inside(node, "; ".join(f"({words}) >/dev/null 2>&1 && echo '{words}'" for words in tries)))


KERNEL = (
    system_calls, namespaces, calls_of_another_architecture, devices_by_number, devices_of_the_node, powers_of_root,
)  # fmt: skip
