"""Containers that are saved (--container-save): by one more program of the user's, in the end, within the step."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import spank
from rootfs import rootfs
from tests.real_slurm.crashing import until

from .squashed import loader
from .test_images import loops
from .walled import ADMIN, OTHER, POLICIES, SHARED, TEAM, TENANT, USER, Walled, walled_node

BOX = f"/tmp/box-{os.urandom(4).hex()}.sqsh"
"""Loop devices are the machine's: those of whoever else tests here are no leftovers of ours."""
IMAGE = f"--container-image={BOX}"
SAVED = "/tmp/saved/new.sqsh"
SAVE = f"--container-save={SAVED}"
AGAIN = f"srun --container-image={SAVED}"
PROGRAM = f"{SHARED}/usr/bin/mksquashfs"
OLD = "what was there before"
ENDLESS = 'echo packing >&2\nprintf half >"$2"\nexec sleep 98765\n'
LONG = 120.0
"""Seconds: slurmctld looks for jobs whose time is over twice a minute."""


@pytest.fixture(scope="module")
def tools(node: Walled) -> None:
    """Install squashfs-tools in the shared root."""
    made = rootfs(node.suite, "squashfs")
    listed = subprocess.run(
        [*loader(made), "--list", str(made / "usr/bin/mksquashfs")], check=True, capture_output=True, text=True
    ).stdout
    place = node.mini.place / "shared"
    shutil.copy(made / "usr/bin/mksquashfs", place / "mksquashfs")
    for path in re.findall(r"=> (/\S+)", listed):
        inside = f"{SHARED}/{Path(path).relative_to(made)}"
        if node.run("test", "-e", inside).returncode:
            shutil.copy(path, place / "library")
            node.say("install", "-D", "-m", "0755", "/run/shared/library", inside)


@pytest.fixture(autouse=True)
def place(node: Walled, squashed: str, tools: None) -> Iterator[None]:  # noqa: ARG001 - only has to be there
    """An image, and a directory of the user's; in the end nothing is left but what was saved."""
    node.say("install", "-m", "0755", "/run/shared/mksquashfs", PROGRAM)
    node.say("install", "-m", "0644", squashed, BOX)
    node.write(f"{BOX}.environment", "GREETING=hello\0", mode="0644")
    node.say("install", "-d", "-o", str(USER), "-g", str(USER), "/tmp/saved", "/tmp/saved/sub")
    yield
    node.rest()
    left = node.say("find", "/tmp", "-name", ".penstock-*")
    node.say("rm", "-rf", "/tmp/saved")
    assert left == ""
    assert [name for name in node.processes() if "mksquashfs" in name or "98765" in name] == []
    assert not re.search("squashfs|/rooms", node.say("cat", "/proc/mounts"))
    until(lambda: loops(node) == [], "the end of all loop devices")


@contextmanager
def packer(node: Walled, script: str) -> Iterator[None]:
    """Have something else in place of mksquashfs for a while."""
    node.say("cp", PROGRAM, f"{PROGRAM}.real")
    node.write(PROGRAM, f"#!/bin/sh\n{script}", mode="0755")
    try:
        yield
    except BaseException:
        node.run("scancel", "--partition=compute")  # who packs for ever would fail all other tests, too
        raise
    finally:
        node.say("mv", f"{PROGRAM}.real", PROGRAM)


def old(node: Walled) -> None:
    """Lay a file of the user's where a container is to be saved."""
    node.say("sh", "-c", f"echo '{OLD}' >{SAVED}; echo OLD=1 >{SAVED}.environment", uid=USER)


def is_as_it_was(node: Walled) -> bool:
    return node.say("cat", SAVED, f"{SAVED}.environment") == f"{OLD}\nOLD=1\n"


def packing(node: Walled) -> int:
    """How many pack, for ever."""
    return sum("sleep 98765" in name for name in node.processes())


def test_what_was_saved_can_be_used_again(node: Walled) -> None:
    """With all that was written, and the image's variables; it is the user's, and there when srun is back."""
    write = "echo kept >/kept; echo more >/usr/bin/more"
    assert node.say("srun", IMAGE, SAVE, "bash", "-c", write, uid=USER) == ""
    look = "cat /kept /usr/bin/more; echo $GREETING; [ -O /usr/bin/bash ] && echo mine"
    assert node.say(*AGAIN.split(), "bash", "-c", look, uid=USER) == "kept\nmore\nhello\nmine\n"
    assert node.say("stat", "-c", "%u %g", SAVED, f"{SAVED}.environment") == f"{USER} {USER}\n" * 2


def test_a_file_can_be_saved_upon_itself(node: Walled) -> None:
    """While it is the container's own image."""
    for number in (1, 2):
        words = ["srun", f"--container-image={SAVED if number > 1 else BOX}", SAVE]
        node.say(*words, "bash", "-c", f"echo {number} >/of-{number}", uid=USER)
    assert node.say(*AGAIN.split(), "bash", "-c", "cat /of-1 /of-2; echo $GREETING", uid=USER) == "1\n2\nhello\n"


@pytest.mark.parametrize("path", ["new.sqsh", "./new.sqsh", ".//sub/../new.sqsh", "sub/new.sqsh"])
def test_a_path_begins_where_the_step_does(node: Walled, path: str) -> None:
    """Wherever its tasks go then, and whatever is called so in the container."""
    words = ["srun", "-D", "/tmp/saved", IMAGE, f"--container-save={path}", "--container-workdir=/usr"]
    ended = node.run(*words, "bash", "-c", "echo kept >/kept", uid=USER)
    if ".." in path:
        assert '--container-save: wrong path ".//sub/../new.sqsh"' in ended.stderr
    else:
        assert ended.returncode == 0, ended.stderr
        words = ["srun", f"--container-image=/tmp/saved/{path}"]
        assert node.say(*words, "cat", "/kept", uid=USER) == "kept\n"


def test_a_container_with_a_name_is_saved(node: Walled) -> None:
    """With what its steps wrote before, and while it stays."""
    box = "srun --container-name=box"
    steps = [
        f"{box} {IMAGE} bash -c 'echo first >/first'",
        f"{box} {SAVE} bash -c 'echo second >/second'",
        f"{box} bash -c 'echo third >/third'",
        f"{AGAIN} bash -c 'exec 2>&1; cat /first /second; cat /third; echo $GREETING'",
    ]
    said = node.batch(USER, "\n".join(steps))[1]
    assert said == "first\nsecond\ncat: /third: No such file or directory\nhello\n"


def test_a_directory_is_saved(node: Walled) -> None:
    """Of root: what the user may not read is not in it, and is told."""
    copy = 'mkdir "$1/bare" && cp -a "$1/usr" "$1/bin" "$1/lib" "$1/lib64" "$1/bare/"; echo of-root >"$1/bare/secret"'
    node.say("sh", "-c", f'{copy}; chmod 600 "$1/bare/secret"', "copy", SHARED)
    ended = node.run("srun", "--container-image=/bare", SAVE, "true", uid=USER)
    node.say("rm", "-rf", f"{SHARED}/bare")
    assert (ended.returncode, "secret" in ended.stderr) == (0, True)
    assert node.say(*AGAIN.split(), "sh", "-c", "cat /secret; id -u", uid=USER) == f"{USER}\n"


def test_a_batch_script_in_a_container_is_saved(node: Walled) -> None:
    """By its own step, when it is through."""
    assert node.batch(USER, "echo kept >/kept", IMAGE, SAVE)[0] == "COMPLETED 0:0"
    assert node.say(*AGAIN.split(), "cat", "/kept", uid=USER) == "kept\n"


def test_nothing_that_is_mounted_is_saved(node: Walled) -> None:
    """Neither the node's, nor what the user mounts; there are empty places for it."""
    node.say("sh", "-c", "mkdir -p /tmp/mounted; echo secret >/tmp/mounted/file")
    mounts = "--container-mounts=/tmp/mounted:/mnt/place"
    node.say("srun", IMAGE, mounts, SAVE, "bash", "-c", "cat /mnt/place/file /proc/self/stat /dev/null", uid=USER)
    node.say("rm", "-rf", "/tmp/mounted")
    place = node.mini.place / "shared"
    node.say("cp", SAVED, "/run/shared/saved.sqsh")
    made = rootfs(node.suite, "squashfs")
    words = [*loader(made), str(made / "usr/bin/unsquashfs"), "-l", "-d", "", str(place / "saved.sqsh")]
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    assert {"/mnt/place", "/proc", "/sys", "/dev", "/tmp", "/squashed-mark"} <= set(listed)
    assert [path for path in listed if re.match(r"/(mnt/place|proc|sys|dev|tmp)/", path)] == []


SPY = """\
(ls -l /proc/$$/fd >&2)
exec >&2
echo "ids $(id -ru) $(id -u) $(id -g) $(id -G)"; env | grep -v ^PWD=
grep '^Cap\\|^NoNewPrivs\\|^SigBlk' /proc/self/status
echo "oom $(cat /proc/$$/oom_score_adj)"
echo "root $(ls -d /jail-mark /node-mark 2>/dev/null)"; echo "here $(echo squashed*) $(touch new 2>&1)"
tr '\\0' ' ' </proc/$$/cmdline
exec /usr/bin/mksquashfs.real "$@"
"""


def test_who_packs_is_the_user_and_has_nothing_else(node: Walled) -> None:
    """No power, no variable of the job's but its number, no descriptor but the file; in the shared root."""
    with packer(node, SPY):
        ended = node.run("srun", IMAGE, SAVE, "bash", "-c", "echo kept >/kept", uid=USER)
    said = ended.stderr
    assert f"ids {USER} {USER} {USER} {USER} {TEAM}\n" in said
    assert set(re.findall(r"Cap(?:Inh|Prm|Eff|Amb):\t(\w+)", said)) == {"0" * 16}
    assert "NoNewPrivs:\t1\n" in said
    assert "SigBlk:\t0000000000000000\n" in said
    assert "oom 0\n" in said
    assert "root /jail-mark\n" in said
    assert "here squashed-mark touch: cannot touch 'new': Read-only file system\n" in said
    open_ones = dict(re.findall(r" (\d+) -> (\S+)", said))
    assert open_ones.pop("10") == "/usr/bin/mksquashfs"  # the shell's own
    assert [re.sub(r"[:\d].*", "", open_ones[number]) for number in sorted(open_ones)] == [
        "/dev/null", "/dev/null", "pipe", "/tmp/saved/.penstock-",
    ]  # fmt: skip
    variables = set(re.findall(r"(?m)^([A-Z_]+)=", said))
    assert variables == {"PATH", "LC_ALL", "SLURM_JOB_ID"}
    assert node.say(*AGAIN.split(), "cat", "/kept", uid=USER) == "kept\n"


UNFIT = {
    "/tmp/no/new.sqsh": "No such file or directory",
    "/root/new.sqsh": "Permission denied",
    "/tmp/saved": "Is a directory",
    "/tmp/others.sqsh": "Operation not permitted",
    "/usr/new.sqsh": "Permission denied",
    "/proc/new.sqsh": "No such file or directory",
    "/tmp/saved/" + "x" * 250: "is no path of a file",
    "/.": "is no path of a file",
}


@pytest.mark.parametrize("path", UNFIT)
def test_where_nothing_can_be_written_no_task_begins(node: Walled, path: str) -> None:
    """And nobody works for hours to lose it in the end."""
    node.say("touch", "/tmp/others.sqsh")
    before = len(node.log())
    ended = node.run("srun", IMAGE, f"--container-save={path}", "bash", "-c", "echo ran", uid=USER)
    node.say("rm", "/tmp/others.sqsh")
    line = rf"penstock: step \d+\.0 of uid {USER} is refused: --container-save \S+:? {re.escape(UNFIT[path])} \(W033\)"
    assert (ended.returncode, ended.stdout) == (1, "")
    assert re.search(line, ended.stderr), ended.stderr
    assert re.search(line, node.log()[before:])


def test_a_policy_can_say_no(node: Walled) -> None:
    """Containers themselves are another matter."""
    node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"] + "save no\n")
    ended = node.run("srun", IMAGE, SAVE, "bash", "-c", "echo ran", uid=USER)
    without = node.run("srun", IMAGE, "bash", "-c", "echo ran", uid=USER)
    node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"] + "save yes\n")
    yes = node.run("srun", IMAGE, SAVE, "bash", "-c", "echo ran", uid=USER)
    node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"])
    assert "the policy allows no saving of containers (W020)" in ended.stderr
    assert (ended.stdout, without.stdout, yes.stdout) == ("", "ran\n", "ran\n")


@pytest.mark.parametrize("words", [["--container-save=/data/x.sqsh"], [IMAGE, SAVE]])
def test_it_is_not_for_tenants(node: Walled, words: list[str]) -> None:
    for uid in (TENANT, OTHER):
        ended = node.run("srun", *words, "echo", "ran", uid=uid)
        assert "tenants may say --container-image and --container-workdir only (W020)" in ended.stderr
        assert ended.stdout == ""


def test_without_a_container_there_is_nothing_to_save(node: Walled) -> None:
    ended = node.run("srun", SAVE, "echo", "ran", uid=USER)
    assert "container options without --container-image (W020)" in ended.stderr
    assert node.run("srun", SAVE, "echo", "ran", uid=ADMIN).stdout == "ran\n"  # who has no walls has no container
    assert node.run("ls", SAVED).returncode != 0


def test_without_the_program_no_task_begins(node: Walled) -> None:
    old(node)
    node.say("rm", PROGRAM)
    ended = node.run("srun", IMAGE, SAVE, "bash", "-c", "echo ran", uid=USER)
    needs = "needs mksquashfs in the shared root: squashfs-tools is to be installed there (W033)"
    assert (needs in ended.stderr, ended.stdout) == (True, "")
    assert is_as_it_was(node)


def test_a_program_of_the_users_is_not_taken(node: Walled) -> None:
    """Neither from their PATH, nor from the container."""
    node.say("sh", "-c", "mkdir /tmp/bin; printf '#!/bin/sh\\ntouch /tmp/tricked\\n' >/tmp/bin/mksquashfs", uid=USER)
    node.say("chmod", "755", "/tmp/bin/mksquashfs")
    trick = "cat </tmp/bin/mksquashfs >/usr/bin/mksquashfs; echo kept >/kept"
    node.say("env", "PATH=/tmp/bin:/usr/bin", "srun", IMAGE, SAVE, "bash", "-c", trick, uid=USER)
    node.say("rm", "-r", "/tmp/bin")
    assert node.run("ls", "/tmp/tricked").returncode != 0
    assert node.say(*AGAIN.split(), "cat", "/kept", uid=USER) == "kept\n"


def test_a_program_that_fails_changes_nothing(node: Walled) -> None:
    """The user and the node are told; the exit code is the tasks' own, for Slurm takes no other."""
    old(node)
    before = len(node.log())
    with packer(node, 'echo "no luck" >&2; printf half >"$2"; exit 1\n'):
        ended = node.run("srun", IMAGE, SAVE, "bash", "-c", "exit 7", uid=USER)
    line = rf"penstock: step \d+\.0 of uid {USER} is not saved: --container-save {SAVED}: mksquashfs failed, .*\(W033\)"
    assert (ended.returncode, "no luck\n" in ended.stderr) == (7, True)
    assert len(re.findall(line, ended.stderr)) == len(re.findall(line, node.log()[before:])) == 1
    assert is_as_it_was(node)


def test_a_full_disk_changes_nothing(node: Walled) -> None:
    inside = f"{node.mini.place}/workplace/root/tmp/saved"
    node.outside("mount", "-t", "tmpfs", "-o", f"size=64k,mode=0777,uid={USER}", "small", inside)
    old(node)
    ended = node.run("srun", IMAGE, SAVE, "true", uid=USER)
    same, files = is_as_it_was(node), node.say("ls", "-A", "/tmp/saved")
    node.rest()
    node.outside("umount", inside)
    assert ("No space left on device" in ended.stderr, "is not saved" in ended.stderr) == (True, True)
    assert (same, files) == (True, "new.sqsh\nnew.sqsh.environment\n")


def test_tasks_that_fail_are_saved_as_with_pyxis(node: Walled) -> None:
    ended = node.run("srun", IMAGE, SAVE, "bash", "-c", "echo kept >/kept; exit 3", uid=USER)
    assert ended.returncode == 3
    assert node.say(*AGAIN.split(), "cat", "/kept", uid=USER) == "kept\n"


def test_variables_of_another_file_do_not_stay_beside_it(node: Walled) -> None:
    old(node)
    node.say("rm", f"{BOX}.environment")
    node.say("srun", IMAGE, SAVE, "true", uid=USER)
    assert node.say("ls", "/tmp/saved") == "new.sqsh\nsub\n"


def test_all_tasks_are_saved_once(node: Walled) -> None:
    """When the last one has ended."""
    with packer(node, 'echo packs >&2; exec /usr/bin/mksquashfs.real "$@"\n'):
        late = "[ $SLURM_PROCID = 0 ] || for i in {1..20000}; do :; done; echo $SLURM_PROCID >/of-$SLURM_PROCID"
        ended = node.run("srun", "-n3", "--overcommit", IMAGE, SAVE, "bash", "-c", late, uid=USER)
    assert ended.stderr.count("packs\n") == 1, ended.stderr
    assert node.say(*AGAIN.split(), "cat", "/of-0", "/of-1", "/of-2", uid=USER) == "0\n1\n2\n"


def test_a_container_that_may_not_be_written_is_saved_as_it_is(node: Walled) -> None:
    ended = node.run("srun", IMAGE, SAVE, "--container-readonly", "touch", "/new", uid=USER)
    assert "Read-only file system" in ended.stderr
    assert node.say(*AGAIN.split(), "bash", "-c", "echo /squashed* /new*", uid=USER) == "/squashed-mark /new*\n"


def test_a_root_of_their_own_is_saved(node: Walled) -> None:
    node.say("srun", IMAGE, SAVE, "--container-remap-root", "bash", "-c", "echo kept >/usr/kept", uid=USER)
    assert node.say(*AGAIN.split(), "cat", "/usr/kept", uid=USER) == "kept\n"


@pytest.mark.parametrize("how", ["batch", "srun"])
def test_a_job_that_is_cancelled_ends_the_packing_at_once(node: Walled, how: str) -> None:
    """What was there stays, the node stays in use, nobody waits."""
    old(node)
    with packer(node, ENDLESS):
        job, output = submitted(node, how)
        until(lambda: packing(node), "somebody who packs")
        node.say("scancel", str(job))
        ended = node.ending(job)
        node.rest()
    assert ended.startswith("CANCELLED")
    assert not packing(node)
    assert re.search(r"is not saved: --container-save \S+: packing was ended by signal \d+ \(W033\)", node.read(output))
    assert is_as_it_was(node)


def submitted(node: Walled, how: str, *options: str) -> tuple[int, str]:
    """A job that packs for ever: in its batch step, or in a step."""
    if how == "batch":
        return node.submit(USER, "true", IMAGE, SAVE, *options)
    return node.submit(USER, f"srun {IMAGE} {SAVE} true; echo srun said $?", *options)


def test_a_step_that_is_cancelled_ends_the_packing_alone(node: Walled) -> None:
    old(node)
    with packer(node, ENDLESS):
        job, output = node.submit(USER, f"srun {IMAGE} {SAVE} true; echo then")
        until(lambda: packing(node), "somebody who packs")
        node.say("scancel", f"{job}.0", uid=USER)
        assert node.ending(job) == "COMPLETED 0:0"
    assert node.read(output).endswith("then\n")
    assert is_as_it_was(node)


def test_real_packing_is_ended_as_well(node: Walled) -> None:
    """By a program that has its own ideas about signals. It has enough to do for whoever is slow to look at it."""
    old(node)
    with packer(node, 'exec /usr/bin/mksquashfs.real "$@" -throttle 99\n'):
        fill = "for i in {1..4000}; do echo $RANDOM$RANDOM; done >/0; for i in {1..512}; do cat /0 /0 /0 /0 >/f$i; done"
        job, output = node.submit(USER, f"srun {IMAGE} {SAVE} bash -c '{fill}'; echo srun said $?")
        until(lambda: any("mksquashfs.real ." in name for name in node.processes()), "somebody who packs")
        node.say("scancel", str(job))
        assert node.ending(job).startswith("CANCELLED")
    assert "is not saved" in node.read(output)
    assert is_as_it_was(node)


def test_the_jobs_time_is_the_packings_time(node: Walled) -> None:
    """Of a batch step and of a step, which end beside each other: Slurm takes half a minute to notice."""
    old(node)
    with packer(node, ENDLESS):
        jobs = [submitted(node, how, "-n1", "--mem=100", "--time=60") for how in ("batch", "srun")]
        until(lambda: packing(node) == 2, "two who pack")
        for job, _ in jobs:
            node.say("scontrol", "update", f"jobid={job}", "EndTime=now")
        bound = time.monotonic() + LONG
        while packing(node) and time.monotonic() < bound:
            time.sleep(0.5)
        assert {node.ending(job).split()[0] for job, _ in jobs} == {"TIMEOUT"}
        node.rest()
    for _, output in jobs:
        assert "DUE TO TIME LIMIT" in node.read(output)
        assert "is not saved" in node.read(output)
    assert is_as_it_was(node)


def test_a_warning_does_not_end_the_packing(node: Walled) -> None:
    """As of sbatch --signal=USR1@60: it is for the tasks."""
    with packer(node, 'until [ -e /tmp/saved/go ]; do sleep 0.1; done; exec /usr/bin/mksquashfs.real "$@"\n'):
        job, _ = node.submit(USER, f"trap '' USR1; srun {IMAGE} {SAVE} true")
        until(lambda: any("mksquashfs ." in name for name in node.processes()), "somebody who packs")
        node.say("scancel", "-s", "USR1", f"{job}.0")
        node.say("touch", "/tmp/saved/go")
        assert node.ending(job) == "COMPLETED 0:0"
    node.say(*AGAIN.split(), "true", uid=USER)


def test_whoever_cancels_a_step_does_not_wait_for_it_to_be_saved(node: Walled) -> None:
    """Its tasks did not come to their end."""
    old(node)
    with packer(node, ENDLESS):
        job, output = node.submit(USER, f"srun {IMAGE} {SAVE} bash -c 'echo runs; while :; do :; done'")
        until(lambda: "runs" in node.read(output), "a task that runs")
        node.say("scancel", str(job))
        assert node.ending(job).startswith("CANCELLED")
        assert not packing(node)
    assert "a task was ended by signal 15 (W033)" in node.read(output)
    assert is_as_it_was(node)


def test_who_packs_ends_with_slurmstepd(node: Walled) -> None:
    """Nobody would bring the file to its place."""
    old(node)
    with packer(node, ENDLESS):
        job, _ = node.submit(USER, "true", IMAGE, SAVE)
        until(lambda: packing(node), "somebody who packs")
        node.say("pkill", "-9", "-f", rf"^slurmstepd: \[{job}\.")
        until(lambda: not packing(node), "the end of who packs")
        node.say("scancel", str(job))
        node.rest()
    assert is_as_it_was(node)
    node.say("sh", "-c", "rm /tmp/saved/.penstock-*")  # the only end that leaves something


def test_a_step_on_several_nodes_is_refused(node: Walled) -> None:
    """They would all write one file."""
    with walled_node(rootfs(node.suite), spank.plugin(node.suite), node.suite, nodes=2) as two:
        ended = two.run("srun", "-N2", "--container-image=/", "--container-save=/tmp/x", "echo", "ran", uid=USER)
    told = "--container-save is for steps on one node, and this one is on 2: let one do it, srun -N1 (W020)"
    assert (told in ended.stderr, ended.stdout) == (True, "")
