"""Class `user`: tasks see the shared root in place of the node's (TR-1, TR-2)."""

import re

import pytest

from .walled import IMAGE, POLICIES, SHARED, USER, Walled

LOOK = "ls -d /node-mark /jail-mark /etc/penstock 2>&1"
SEEN = ["/jail-mark", "ls: cannot access '/etc/penstock': No such file or directory"]


def looked(text: str) -> list[str]:
    """Sort what a look at the marks of both roots says."""
    return sorted(line for line in text.splitlines() if "node-mark" not in line or "cannot access" not in line)


def test_a_batch_script_sees_the_shared_root(node: Walled) -> None:
    """A batch step is contained like any other, and its script is where Slurm says it is."""
    ended, said = node.batch(USER, f"{LOOK}; test -r $0 && echo script")
    assert (ended, looked(said)) == ("COMPLETED 0:0", sorted([*SEEN, "script"]))


def test_a_step_of_srun_sees_the_shared_root(node: Walled) -> None:
    """So does a step of srun."""
    assert looked(node.run("srun", "sh", "-c", LOOK, uid=USER).stdout) == SEEN


def test_an_interactive_step_sees_the_shared_root(node: Walled) -> None:
    """So does a command that salloc runs, as a step on the node."""
    ended = node.run("salloc", "-Q", "srun", "--interactive", "sh", "-c", LOOK, uid=USER)
    assert looked(ended.stdout) == SEEN


def test_nothing_of_the_old_root_is_left(node: Walled) -> None:
    """Every mount that a task sees is the shared root, or one of those that it is told of."""
    mounts = node.say("srun", "sh", "-c", "cut -d' ' -f5 /proc/self/mountinfo", uid=USER).split()
    expected = {"/", "/dev", "/dev/pts", "/etc/hosts", "/etc/resolv.conf", "/etc/slurm", "/proc", "/run/slurm"}
    expected |= {"/sys", "/tmp"}
    spool = {path for path in mounts if path.startswith("/var/spool/slurmd-w1")}
    assert set(mounts) - spool == expected
    assert len(mounts) == len(set(mounts))


def test_tmp_is_the_nodes(node: Walled) -> None:
    """What a task writes to /tmp is there for the next one."""
    node.say("srun", "sh", "-c", "echo kept >/tmp/kept-by-user", uid=USER)
    assert node.read("/tmp/kept-by-user") == "kept\n"


def test_what_a_task_writes_is_in_the_shared_root(node: Walled) -> None:
    """The shared root is shared: whoever may write there, writes for all."""
    node.say("install", "-d", "-o", str(USER), f"{SHARED}/home/user")
    node.say("srun", "sh", "-c", "echo mine >/home/user/note", uid=USER)
    assert node.read(f"{SHARED}/home/user/note") == "mine\n"


def test_the_kernel_cannot_be_changed_through_sys(node: Walled) -> None:
    """/sys is read-only, /proc is fresh and shows the task itself."""
    said = node.say("srun", "sh", "-c", "grep ' /sys ' /proc/self/mounts; cat /proc/self/comm", uid=USER)
    assert re.search(r" ro,nosuid,nodev,noexec", said)
    assert said.endswith("cat\n")


def test_slurm_can_be_used_from_inside(node: Walled) -> None:
    """Commands of Slurm work in a job as they do on a login node (TR-5)."""
    ended, said = node.batch(USER, "srun sh -c 'ls /jail-mark; echo step $SLURM_STEP_ID'; squeue -h -o %i | wc -l")
    assert (ended, said) == ("COMPLETED 0:0", "/jail-mark\nstep 0\n1\n")


def test_configuration_that_slurmctld_sent_is_seen(node: Walled) -> None:
    """A node without files has it in its spool directory, of which nothing else is shown (TR-5)."""
    cache, other = "/var/spool/slurmd-w1/conf-cache", "/var/spool/slurmd-w1/of-other-jobs"
    node.say("sh", "-c", 'mkdir -p "$1" "$2"; touch "$1/slurm.conf"; ln -sfn "$1" /run/slurm/conf', "-", cache, other)
    try:
        said = node.say("srun", "sh", "-c", "ls /run/slurm/conf/ /var/spool/slurmd-w1", uid=USER)
    finally:
        node.say("rm", "/run/slurm/conf")
    assert said.split() == ["/run/slurm/conf/:", "slurm.conf", "/var/spool/slurmd-w1:", "conf-cache"]


def test_a_policy_can_show_more_of_the_node_and_fewer_devices(node: Walled) -> None:
    """Mounts, kept paths and a small /dev are the policy's to say."""
    node.say("sh", "-c", "mkdir -p /scratch /models; touch /scratch/kept /models/shown; chmod 777 /scratch /models")
    more = "keep /scratch\nmount /models /mnt/models ro\ndevices minimal\ndevice /dev/loop-control\n"
    node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"] + more)
    try:
        script = "ls /scratch /mnt/models; touch /scratch/new /mnt/models/new; ls /dev; echo x >/dev/null"
        ended = node.run("srun", "sh", "-c", script, uid=USER)
    finally:
        node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"])
    devices = "fd full loop-control null ptmx pts random shm stderr stdin stdout tty urandom zero"
    assert " ".join(ended.stdout.split()) == f"/mnt/models: shown /scratch: kept {devices}"
    assert ended.stderr.count("Read-only file system") == 1


def test_the_current_directory_is_kept(node: Walled) -> None:
    """A task begins where it was submitted, if the shared root has such a place."""
    node.say("install", "-d", "-m", "0755", f"{SHARED}/work", "/work")
    assert node.say("srun", "-D", "/work", "pwd", uid=USER) == "/work\n"


def test_output_lands_in_a_home_that_only_the_shared_root_has(node: Walled) -> None:
    """Slurmstepd opens it before there is any task; and nobody is told that their directory is not there (TR-5)."""
    node.say("install", "-d", "-o", str(USER), f"{SHARED}/home/writer", f"{SHARED}/project/writer")
    script = f"cd /home/writer && printf '#!/bin/sh\\npwd; echo complaint >&2' >job && chown {USER} job"
    node.say("unshare", "--root", SHARED, "sh", "-c", script)
    for where in ("/home/writer", "/project/writer"):
        words = ["--chdir", where, "--output", "told-%j", "--error", f"{where}/complained", "--wait"]
        ended = node.run("sbatch", *words, f"{SHARED}/home/writer/job", uid=USER)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert node.say("sh", "-c", f"cat {SHARED}{where}/told-*") == f"{where}\n"
        assert node.read(f"{SHARED}{where}/complained") == "complaint\n"
    told = node.run("srun", "--chdir", "/home/writer", "--output", "/home/writer/task-%t", "pwd", uid=USER)
    assert (told.stdout, told.stderr) == ("", "")
    assert node.run("test", "-e", "/project/writer").returncode == 1, "the node itself has seen nothing of it"


def test_what_the_policy_keeps_of_the_node_stays_the_nodes(node: Walled) -> None:
    """Also for slurmstepd, and though the shared root has such a directory, and the node nothing in it."""
    node.say("sh", "-c", f"mkdir -p /local {SHARED}/local; touch {SHARED}/local/of-the-root; chmod 777 /local")
    node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"] + "keep /local\n")
    try:
        ended, _ = node.batch(USER, "ls /local; touch /local/of-the-task", "--error=/local/of-slurmstepd")
    finally:
        node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"])
    assert ended == "COMPLETED 0:0"
    assert node.say("ls", "/local").split() == ["of-slurmstepd", "of-the-task"]


def test_a_container_is_made_of_a_directory(node: Walled) -> None:
    """--container-image, --container-mounts and --container-workdir do what they do with Pyxis."""
    copy = 'mkdir -p "$2" && cp -a "$1/." "$2" && touch "$2/image-mark"'
    node.say("sh", "-c", copy, "copy", IMAGE, f"{SHARED}{IMAGE}")
    node.say("sh", "-c", "mkdir -p /tmp/mine && echo data >/tmp/mine/file && chown -R 2001 /tmp/mine")
    mounts = "--container-mounts=/tmp/mine:/mnt/mine,/tmp/mine:/mnt/fixed:ro"
    script = "pwd; ls -d /image-mark /jail-mark; cat /mnt/mine/file; touch /mnt/mine/new /mnt/fixed/new /new"
    ended = node.run(
        "srun", f"--container-image={IMAGE}", mounts, "--container-workdir=/usr", "sh", "-c", script, uid=USER
    )
    assert ended.stdout == "/usr\n/image-mark\ndata\n"
    assert ended.stderr.count("Read-only file system") == 2
    assert node.read("/tmp/mine/new") == ""


def test_a_container_can_be_asked_for_by_variables(node: Walled) -> None:
    """As with Pyxis; options count more."""
    node.say("install", "-d", "-m", "0755", "/tmp/asked")
    variables = ["PYXIS_CONTAINER_IMAGE=/", "PYXIS_CONTAINER_WORKDIR=/etc", "PYXIS_CONTAINER_MOUNTS=/tmp/asked:/mnt/x"]
    look = ["sh", "-c", "pwd; grep -c ' /mnt/x ' /proc/self/mounts"]
    assert node.say("env", *variables, "srun", *look, uid=USER) == "/etc\n1\n"
    assert node.say("env", *variables, "srun", "--container-workdir=/usr", *look, uid=USER) == "/usr\n1\n"


def test_what_is_written_to_a_writable_container_goes_with_it(node: Walled) -> None:
    """Files of the image are written where their modes allow it, and only the step sees that."""
    node.say("sh", "-c", f"mkdir -p {SHARED}/home/made/etc; chown -R {USER} {SHARED}/home/made")
    node.say("sh", "-c", f"cp -a {IMAGE}/usr {IMAGE}/bin {IMAGE}/lib {IMAGE}/lib64 {SHARED}/home/made/")
    words = ["srun", "--container-image=/home/made", "--container-writable", "--container-mount-home"]
    assert node.say(*words, "sh", "-c", "echo new >/etc/new; cat /etc/new; ls -d $HOME", uid=USER) == "new\n/tmp\n"
    assert node.run("ls", f"{SHARED}/home/made/etc").stdout == ""


def test_a_containers_image_is_opened_as_the_user(node: Walled) -> None:
    """What a user may not read is no image and no mount of theirs, though root opens both (T5, T8)."""
    node.say("sh", "-c", f"mkdir -p {SHARED}/secret/root {SHARED}/secret/data; chmod 700 {SHARED}/secret")
    image = node.run("srun", "--container-image=/secret/root", "true", uid=USER)
    assert "--container-image /secret/root: Permission denied (W030)" in image.stderr
    mount = node.run("srun", "--container-image=/", "--container-mounts=/secret/data:/mnt", "true", uid=USER)
    assert "--container-mounts: /secret/data: Permission denied (W031)" in mount.stderr


def test_a_place_for_a_mount_is_made_as_the_user(node: Walled) -> None:
    """Root attaches it; but where a user may not write, nothing new appears for them (T8)."""
    node.say("sh", "-c", f"mkdir -p {SHARED}/srv/common /tmp/place; chmod 755 {SHARED}/srv/common")
    for kind in ("/tmp/place", "/etc/passwd"):
        mounts = f"--container-mounts=/srv/common:/mnt/common,{kind}:/mnt/common/new"
        ended = node.run("srun", "--container-image=/", mounts, "true", uid=USER)
        assert "a place at /mnt/common/new of the new root: Permission denied (W041)" in ended.stderr
    assert node.run("ls", f"{SHARED}/srv/common").stdout == ""
    node.say("install", "-d", "-o", str(USER), f"{SHARED}/srv/own")
    mounts = "--container-mounts=/srv/own:/mnt/own,/tmp/place:/mnt/own/new"
    node.say("srun", "--container-image=/", mounts, "true", uid=USER)
    assert node.say("stat", "-c", "%u %F", f"{SHARED}/srv/own/new") == f"{USER} directory\n"


def test_nothing_in_a_container_raises_anybody(node: Walled) -> None:
    """Users bring the files around setuid programs, so these are programs like any other there (T20)."""
    script = "grep NoNewPrivs /proc/self/status; grep -v -e nosuid /proc/self/mounts"
    ended = node.run("srun", "--container-image=/", "sh", "-c", script, uid=USER)
    assert ended.stdout.split() == ["NoNewPrivs:", "1"]


@pytest.mark.parametrize("option", ["--container-mounts=/tmp:/mnt", "--container-writable", "--container-env=A"])
def test_an_option_without_an_image_is_refused(node: Walled, option: str) -> None:
    """Pyxis would run the step outside of any container; a variable that is there for others does no harm."""
    ended = node.run("srun", option, "echo", "ran", uid=USER)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "container options without --container-image (W020)" in ended.stderr
    assert node.say("env", "PYXIS_CONTAINER_WORKDIR=/usr", "srun", "echo", "ran", uid=USER) == "ran\n"
