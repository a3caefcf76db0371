"""Class `tenant`: tasks see an image, their own data and themselves, and can do little to the kernel (GW-5, GW-8)."""

import errno
import re
from collections.abc import Iterator

import pytest

from tests.real_slurm.crashing import until

from .walled import ADMIN, DIGEST, OTHER, TENANT, UNWRITTEN, Walled, tenant


def walled(node: Walled, script: str, *options: str) -> str:
    """Run a tenant's script that succeeds."""
    return node.say("srun", *options, "bash", "-c", script, uid=TENANT)


@pytest.fixture(autouse=True)
def policy(node: Walled) -> Iterator[None]:
    """Put the tenant's policy back when a test has changed it."""
    yield
    node.policy(f"uid-{TENANT}", tenant(TENANT))


def test_a_tenant_sees_the_image_and_its_own_data(node: Walled) -> None:
    """In a batch step: exactly the policy's mounts, and nothing of the node."""
    look = "cat /data/own; ls -d /node-mark /srv/* /jail /etc/penstock /run/slurm/* 2>/dev/null"
    ended, said = node.batch(TENANT, look)
    assert (ended, said) == ("FAILED 2:0", f"of {TENANT}\n")  # of ls, who found nothing


def test_an_interactive_step_is_walled(node: Walled) -> None:
    """What salloc runs on the node is a step like any other."""
    ended = node.run("salloc", "-Q", "srun", "--interactive", "bash", "-c", "cat /data/own; ls /srv", uid=TENANT)
    assert ended.stdout == f"of {TENANT}\n"


def test_nothing_else_is_mounted(node: Walled) -> None:
    """Read-only but for the tenant's own; nothing raises anybody, nowhere are devices but in /dev."""
    lines = [line.split() for line in walled(node, "cat /proc/self/mountinfo").splitlines()]
    mounts = {place: set(options.split(",")) for _, _, _, _, place, options, *_ in lines}
    assert set(mounts) == {"/", "/data", "/dev", "/dev/pts", "/dev/shm", "/proc", "/tmp"}
    assert all("nosuid" in options for options in mounts.values())
    assert {place for place, options in mounts.items() if "nodev" not in options} == {"/dev", "/dev/pts"}
    assert {place for place, options in mounts.items() if "ro" in options} == {"/", "/dev"}


def test_a_tenant_has_processes_of_its_own(node: Walled) -> None:
    """/proc shows the tenant's own processes and nothing of the kernel's tables."""
    pids = walled(node, "sleep 9 & echo /proc/[0-9]*; kill %1").split()
    assert all(int(path.removeprefix("/proc/")) < 10 for path in pids)
    assert "/proc/1" not in pids
    assert walled(node, "ls /proc/kcore /proc/cmdline /proc/sys /proc/keys 2>/dev/null; true") == ""


def test_every_namespace_is_the_tenants_own(node: Walled) -> None:
    """Mounts, processes, memory, names and network; that of the node if the policy says so (GW-5)."""
    kinds = ("mnt", "pid", "ipc", "uts", "net")
    look = ["readlink", *(f"/proc/self/ns/{kind}" for kind in kinds)]
    outside = node.say(*look).split()
    inside = node.say("srun", *look, uid=TENANT).split()
    assert [one == other for one, other in zip(inside, outside, strict=True)] == [False] * 5
    node.policy(f"uid-{TENANT}", tenant(TENANT, "net host"))
    assert node.say("srun", *look, uid=TENANT).split()[-1] == outside[-1]
    assert walled(node, "hostname").startswith("job-")


def test_tasks_of_a_step_share_their_room(node: Walled) -> None:
    """Two tasks see each other, their memory and their files; another step sees nothing of it."""
    arrive = "touch /tmp/of-$SLURM_PROCID /dev/shm/of-$SLURM_PROCID"
    await_both = "until [ -e /dev/shm/of-0 ] && [ -e /dev/shm/of-1 ]; do sleep 0.01; done"
    assert walled(node, f"{arrive}; {await_both}; ls /tmp /dev/shm", "-n2").split().count("of-1") == 4
    assert walled(node, "ls -A /tmp /dev/shm").split() == ["/dev/shm:", "/tmp:"]


def test_a_tenant_has_no_powers(node: Walled) -> None:
    """No capability in any set, no way to gain one, a filter of system calls, no groups."""
    status = dict(line.split(":\t", 1) for line in walled(node, "cat /proc/self/status").splitlines() if ":\t" in line)
    assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"], status["Groups"].strip()) == ("1", "2", "")
    assert status["Uid"].split() == [str(TENANT)] * 4
    assert status["Umask"] == "0077"


def test_a_tenants_groups_are_the_policys(node: Walled) -> None:
    """Slurm's own groups are not taken, the policy's are."""
    node.policy(f"uid-{TENANT}", tenant(TENANT, "group 4242", "group 4243"))
    assert walled(node, "id -G").split() == [str(TENANT), "4242", "4243"]


CALLS = {
    "mount": ("165, 0, 0, 0, 0, 0", errno.EPERM),
    "pivot_root": ("155, 0, 0", errno.EPERM),
    "open_tree": ("428, -100, 0, 1", errno.EPERM),
    "setns": ("308, -1, 0", errno.EPERM),
    "unshare": ("272, 0x10000000", errno.EPERM),
    "a namespace by clone": ("56, 0x10000000 | 17, 0, 0, 0, 0", errno.EPERM),
    "clone3": ("435, 0, 0", errno.ENOSYS),
    "keys": ("250, 0, -3, 0, 0, 0", errno.EPERM),
    "ptrace": ("101, 0, 0, 0, 0", errno.EPERM),
    "bpf": ("321, 0, 0, 0", errno.EPERM),
    "userfaultfd": ("323, 1", errno.EPERM),
    "io_uring": ("425, 8, 0", errno.EPERM),
    "perf": ("298, 0, 0, -1, -1, 0", errno.EPERM),
    "packets": ("41, 17, 3, 0", errno.EAFNOSUPPORT),
    "the kernel's own messages": ("41, 16, 3, 15", errno.EPROTONOSUPPORT),
    "another personality": ("135, 0x0400000", errno.EPERM),
    "typing into a terminal": ("16, 0, 0x5412, 0", errno.EPERM),
    "calls of x32": ("0x40000000 + 39", errno.ENOSYS),
    "groups": ("116, 0, 0", errno.EPERM),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_denied(node: Walled, call: str) -> None:
    """What an attack on the kernel or on other people would need is not to be had, by the filter alone."""
    words, error = CALLS[call]
    assert walled(node, f"perl -e 'print syscall({words}) < 0 ? $! + 0 : 0'") == str(error)


@pytest.mark.parametrize("script", ["hostname other", "touch /etc/new", "mknod /tmp/disk b 254 0", "chown 0 /data"])
def test_a_command_of_roots_fails(node: Walled, script: str) -> None:
    """Nor is there any power left."""
    assert node.run("srun", "bash", "-c", f"{script} 2>/dev/null && echo done", uid=TENANT).stdout == ""


def test_only_variables_on_the_list_go_through(node: Walled) -> None:
    """Neither tokens nor ways to Slurm nor what changes programs (T6, T7, T18)."""
    more = "LD_PRELOAD=x.so,BASH_ENV=/tmp/x,PYXIS_CONTAINER_SAVE_ME=1,SLURM_JWT=token,MY_KEY=x"
    said = node.say("srun", f"--export=ALL,{more}", "env", uid=TENANT)
    names = {line.split("=", 1)[0] for line in said.splitlines()}
    assert {"HOME", "PATH", "SLURM_JOB_ID", "SLURM_PROCID", "SLURM_NTASKS"} <= names
    assert not {name for name in names if re.match(r"LD_|BASH|PYXIS|SPANK|SLURM_(SPANK|CONF|JWT|RLIMIT)|.*KEY", name)}


def test_a_tenant_cannot_reach_slurm(node: Walled) -> None:
    """No socket, no configuration (T12, T13, T23)."""
    ended = node.run("srun", "bash", "-c", "sbatch --wrap true; squeue; srun true", uid=TENANT)
    assert ended.returncode != 0
    assert ended.stdout == ""


def test_a_tenants_step_can_name_a_granted_image_only(node: Walled) -> None:
    """By its digest (T5, T24)."""
    assert walled(node, "pwd", f"--container-image={DIGEST}", "--container-workdir=/usr") == "/usr\n"
    other = node.run("srun", "--container-image=/", "true", uid=TENANT)
    assert "image / is not granted (W030)" in other.stderr


@pytest.mark.parametrize("option", ["--container-mounts=/srv:/mnt", "--container-remap-root", "--container-writable"])
def test_other_options_are_not_a_tenants_to_say(node: Walled, option: str) -> None:
    """Mounts and powers come from the policy (T3, T21)."""
    ended = node.run("srun", option, "true", uid=TENANT)
    assert ended.returncode == 1
    assert "(W020)" in ended.stderr


OUTPUTS = {
    "another tenant's": f"/srv/{OTHER}/out/x",
    "the node's": "/tmp/x-%j",
    "led away": f"/srv/{TENANT}/out/link",
    "mounted": f"/srv/{TENANT}/out/mounted/x",
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_output_outside_of_the_tenants_directory_is_refused(node: Walled, case: str) -> None:
    """Files are opened by Slurm on the node, so their place is looked at before the program begins (T17)."""
    node.say("chmod", "777", f"/srv/{OTHER}", f"/srv/{OTHER}/out")
    node.say("ln", "-sfn", "/tmp/led-away", f"/srv/{TENANT}/out/link")
    node.say("mkdir", "-p", f"/srv/{TENANT}/out/mounted")
    mark = f"/srv/{TENANT}/data/ran-{case[0]}"
    before = len(node.log())
    with node.bound("/tmp", f"/srv/{TENANT}/out/mounted"):
        assert node.batch(TENANT, f"touch /data/ran-{case[0]}", "-o", OUTPUTS[case])[0] == "FAILED 1:0"
    assert "(W032)" in node.log()[before:]
    assert node.run("ls", mark).returncode != 0


@pytest.mark.parametrize("pattern", ["%t", "%N"], ids=["of-a-task", "of-a-node"])
def test_labelled_output_elsewhere_is_refused(node: Walled, pattern: str) -> None:
    """It is slurmstepd that writes it, and tasks have pipes only; in its place it is as without walls (T17)."""
    node.run("srun", "-l", "-o", f"/tmp/labelled-{pattern}", "touch", "/data/ran-labelled", uid=TENANT)
    assert node.run("ls", f"/srv/{TENANT}/data/ran-labelled").returncode != 0
    assert node.say("srun", "-l", "echo", "x", uid=TENANT) == "0: x\n"
    node.say("srun", "-l", "-o", f"/srv/{TENANT}/out/labelled-{pattern}", "echo", "labelled", uid=TENANT)
    assert node.say("sh", "-c", f"cat /srv/{TENANT}/out/labelled-*") == "0: labelled\n"
    node.say("sh", "-c", f"rm /srv/{TENANT}/out/labelled-*")


def test_input_from_the_node_is_refused(node: Walled) -> None:
    """A file that anybody may read on the node is not for tenants to read (T17)."""
    before = len(node.log())
    assert node.batch(TENANT, "cat", "-i", "/etc/passwd")[0] == "FAILED 1:0"
    assert re.search(r"descriptor 0 leads to \S*/etc/passwd, .*\(W032\)", node.log()[before:])


def test_limits_are_the_policys(node: Walled) -> None:
    """Hard and soft, whatever the submitting shell had."""
    node.policy(f"uid-{TENANT}", tenant(TENANT, "limit nofile 64", "limit nproc 3000", "tmp 1M", "shm 2M"))
    assert walled(node, "ulimit -Hn; ulimit -Sn; ulimit -Hu").split() == ["64", "64", "3000"]
    assert walled(node, "df --output=size /tmp /dev/shm | tail -n +2").split() == ["1024", "2048"]


def test_memory_holds_as_many_files_as_pages(node: Walled) -> None:
    """Empty files cost the kernel's memory, too (T27)."""
    node.policy(f"uid-{TENANT}", tenant(TENANT, "tmp 1M", "shm 2M"))
    assert walled(node, "df --output=itotal /tmp /dev/shm | tail -n +2").split() == ["512", "768"]


def test_nothing_of_a_tenants_runs_after_its_tasks(node: Walled) -> None:
    """It would run on the node: of tasks that ran, that were refused, and of who has no policy (T1)."""
    program = f"/srv/{TENANT}/data/epilog"
    node.write(program, "#!/bin/sh\ntouch /tmp/epilog-of-$(id -u)\n", mode="0755")
    node.say("chmod", "0711", f"/srv/{TENANT}/data")
    for uid, option in ((TENANT, "-n2"), (TENANT, "--container-mounts=/srv:/mnt"), (UNWRITTEN, "-n1")):
        node.run("srun", f"--task-epilog={program}", option, "true", uid=uid)
    node.say("srun", f"--task-epilog={program}", "true", uid=ADMIN)
    assert node.say("sh", "-c", "echo /tmp/epilog-of-*").split() == [f"/tmp/epilog-of-{ADMIN}"]


def test_a_pipe_as_output_holds_nobody(node: Walled) -> None:
    """The job fails as one whose output cannot be opened, and the node goes on (T17)."""
    walled(node, "mkfifo /data/pipe")
    assert node.batch(TENANT, "true", "-o", f"/srv/{TENANT}/data/pipe")[0] == "FAILED 0:53"
    assert "Interrupted system call" in node.log()
    assert node.say("sinfo", "-h", "-o", "%T") == "idle\n"


def test_a_granted_device_comes_with_what_its_driver_needs(node: Walled) -> None:
    """The device itself, /proc whole but for other people's processes, /sys to be read (T22)."""
    node.policy(f"uid-{TENANT}", tenant(TENANT, "device /dev/loop-control"))
    look = "ls /dev/loop*; ls -d /proc/meminfo /sys/class /proc/1; grep -o ' /sys sysfs ro' /proc/mounts"
    said = walled(node, look)
    assert said.splitlines() == ["/dev/loop-control", "/proc/meminfo", "/sys/class", " /sys sysfs ro"]


def test_nothing_is_left_of_a_step(node: Walled) -> None:
    """What a task leaves behind ends with the step; neither processes nor mounts stay (T28)."""
    mounts = node.read("/proc/mounts")
    node.batch(TENANT, "setsid sleep 4711 & disown; sleep 0.1")
    walled(node, "setsid sleep 4711 & sleep 0.1")
    until(lambda: not [line for line in node.processes() if "slurmstepd" in line], "the end of slurmstepd")
    assert not [line for line in node.processes() if "sleep 4711" in line]
    assert node.read("/proc/mounts") == mounts


def test_no_descriptor_of_the_node_is_open(node: Walled) -> None:
    """0, 1 and 2, and the one by which this is seen."""
    assert walled(node, "ls /proc/self/fd | wc -l") == "4\n"
