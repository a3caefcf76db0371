"""Containers of users that have a name, and those whose user is root in them, as with Pyxis."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest

from rootfs import rootfs
from tests.real_slurm.crashing import until

from .squashed import fill, loader
from .test_images import loops
from .walled import POLICIES, SHARED, TENANT, USER, Walled

ROOMS = "/run/penstock/rooms"
IMAGE = "--container-image=/tmp/box.sqsh"
ENTER = "srun --container-name=box"


@pytest.fixture(autouse=True)
def image(node: Walled, squashed: str) -> Iterator[None]:
    """A file that the user may read, with variables beside it; and nothing is left of any container in the end."""
    node.say("install", "-m", "0644", squashed, "/tmp/box.sqsh")
    node.write("/tmp/box.sqsh.environment", "GREETING=hello\0", mode="0644")
    yield
    until(lambda: node.run("ls", ROOMS).stdout == "", "the end of all named containers")
    until(lambda: loops(node) == [], "the end of all loop devices")
    assert "rooms" not in node.say("cat", "/proc/mounts")
    assert "drain" not in node.say("sinfo", "-h", "-o", "%T")


def test_later_steps_find_what_earlier_ones_wrote(node: Walled) -> None:
    """In the same room, with the image's variables, without asking for the image again."""
    script = [
        f"{ENTER} {IMAGE} bash -c 'echo kept >/kept; echo $GREETING'",
        f"{ENTER} bash -c 'cat /kept; echo $GREETING'",
    ]
    assert node.batch(USER, "\n".join(script)) == ("COMPLETED 0:0", "hello\nkept\nhello\n")


def test_a_batch_script_can_be_in_a_container(node: Walled) -> None:
    """Also of an image that has no place for Slurm's script."""
    ended = node.batch(USER, "echo kept >/kept; echo $GREETING; echo /squashed*", IMAGE, "--container-writable")
    assert ended == ("COMPLETED 0:0", "hello\n/squashed-mark\n")


def test_a_name_ends_with_its_job(node: Walled) -> None:
    """The next job of the same user has none of it."""
    assert node.batch(USER, f"{ENTER} {IMAGE} bash -c 'echo kept >/kept'")[0] == "COMPLETED 0:0"
    ended, said = node.batch(USER, f"{ENTER} {IMAGE} cat /kept")
    assert ended == "FAILED 1:0"
    assert "/kept: No such file or directory" in said


def test_without_a_name_nothing_is_kept(node: Walled) -> None:
    script = f"srun {IMAGE} --container-writable bash -c 'echo x >/kept'\nsrun {IMAGE} cat /kept"
    assert "No such file" in node.batch(USER, script)[1]


@pytest.mark.parametrize(("first", "then", "told"), [
    ("box:create", "box:exec", ""),
    ("box", "box:auto", ""),
    ("box", "box:create", "--container-name box is there already (W020)"),
    ("box:no_exec", "box:no_exec", ""),
    ("box", "other:exec", "--container-name other is not there (W020)"),
])  # fmt: skip
def test_a_name_says_what_it_is_for(node: Walled, first: str, then: str, told: str) -> None:
    """New, there already, or whatever fits."""
    begin = f"srun {IMAGE} --container-name"
    steps = [f"{begin}={first} bash -c 'echo kept >/kept'", f"{begin}={then} cat /kept"]
    ended, said = node.batch(USER, "\n".join(steps))
    if told:
        assert (ended, told in said) == ("FAILED 1:0", True)
    else:
        assert (ended, said) == ("COMPLETED 0:0", "kept\n")


def test_a_name_that_is_not_there_needs_an_image(node: Walled) -> None:
    ended = node.run("srun", "--container-name=box", "true", uid=USER)
    assert "--container-name box is not there yet, so it needs --container-image (W020)" in ended.stderr


def test_steps_at_once_are_in_one_room(node: Walled) -> None:
    """Each waits for what the other one writes; both asked for it to be made."""
    one = "echo >/one; until [ -e /two ]; do :; done"
    two = "echo >/two; until [ -e /one ]; do :; done"
    begin = f"{ENTER} {IMAGE} --overlap"
    ended = node.batch(USER, f"{begin} bash -c '{one}' &\n{begin} bash -c '{two}' &\nwait -n && wait -n", "-t1")
    assert ended == ("COMPLETED 0:0", "")


def test_every_step_has_mounts_of_its_own(node: Walled) -> None:
    """Files are what steps of a name share."""
    node.say("install", "-d", "-m", "0755", "/tmp/one", "/tmp/two")
    node.write("/tmp/two/file", "of two\n", mode="0644")
    first = f"{ENTER} {IMAGE} --container-mounts=/tmp/one:/mnt/one bash -c 'echo /mnt/*'"
    then = f"{ENTER} --container-mounts=/tmp/two:/mnt/two:ro bash -c 'cat /mnt/two/file; echo /mnt/one/* /mnt/*'"
    assert node.batch(USER, f"{first}\n{then}")[1] == "/mnt/one\nof two\n/mnt/one/* /mnt/one /mnt/two\n"


def test_places_are_made_as_the_user_wherever_links_lead(node: Walled) -> None:
    """The files are the user's to change between two steps."""
    node.say("sh", "-c", f"mkdir -p {SHARED}/srv/common; chmod 755 {SHARED}/srv/common")
    turn = f"{ENTER} {IMAGE} bash -c 'ln -s /mnt/common /turned'"
    mounts = "--container-mounts=/srv/common:/mnt/common,/tmp:/turned/new"
    ended, said = node.batch(USER, f"{turn}\n{ENTER} {mounts} echo ran", "-D", "/tmp")
    assert (ended, "a place at /turned/new of the new root: Permission denied (W041)" in said) == ("FAILED 1:0", True)
    assert node.run("ls", f"{SHARED}/srv/common").stdout == ""


def test_a_directory_of_root_can_have_a_name(node: Walled) -> None:
    """Places for what its steps are shown are there from its first step on."""
    copy = 'mkdir "$1/bare" && cp -a "$1/usr" "$1/bin" "$1/lib" "$1/lib64" "$1/bare/"'
    node.say("sh", "-c", copy, "copy", SHARED)
    box = "srun --container-name=bare --container-image=/bare --container-mounts=/tmp:/mnt/tmp"
    assert node.batch(USER, f"{box} true\n{box} ls -d /proc/self /mnt/tmp") == (
        "COMPLETED 0:0",
        "/mnt/tmp\n/proc/self\n",
    )


def test_a_named_container_may_be_read_only(node: Walled) -> None:
    ended = node.run("srun", "--container-name=box", IMAGE, "--container-readonly", "touch", "/new", uid=USER)
    assert "Read-only file system" in ended.stderr


def test_files_of_a_squashfs_image_are_its_users(node: Walled) -> None:
    """Wherever they lie in it; they are root's in the file itself."""
    look = "touch /new /usr/bin/new && [ -O /usr/bin/bash ] && echo mine"
    assert node.say("srun", IMAGE, "--container-writable", "bash", "-c", look, uid=USER) == "mine\n"


def test_a_user_can_be_root_in_a_container(node: Walled) -> None:
    """Over their own files, with no power, and still themselves to everybody else."""
    look = "echo $UID; touch /new; [ -O /new ] && echo mine; cat /proc/self/status"
    said = node.say(
        "srun", "-n2", IMAGE, "--container-remap-root", "--container-writable", "bash", "-c", look, uid=USER
    )
    assert said.splitlines().count("0") == said.splitlines().count("mine") == 2
    assert set(re.findall(r"Cap(?:Inh|Prm|Eff|Bnd|Amb):\t(\w+)", said)) == {"0" * 16}
    assert re.findall(r"NoNewPrivs:\t(\d)", said) == ["1", "1"]
    node.say("srun", IMAGE, "--container-remap-root", "touch", "/tmp/of-root", uid=USER)
    assert node.say("stat", "-c", "%u %g", "/tmp/of-root") == f"{USER} {USER}\n"


def test_such_a_root_cannot_read_what_is_roots(node: Walled) -> None:
    """A directory that a user may open has files in it that they may not."""
    look = "id -u; touch /tmp/given; chown 7:7 /tmp/given; cat /etc/shadow"
    ended = node.run("srun", "--container-image=/", "--container-remap-root", "sh", "-c", look, uid=USER)
    assert (ended.stdout, "cat: /etc/shadow: Permission denied" in ended.stderr) == ("0\n", True)
    assert "chown" not in ended.stderr  # who installs packages as this root is not stopped by it
    assert node.say("stat", "-c", "%u", "/tmp/given") == f"{USER}\n"


def test_files_of_a_directory_stay_whose_they_are(node: Walled) -> None:
    """On a file system that could show them as the user's, as it does those of a squashfs file."""
    tree = node.mini.place / "shared/tree"
    fill(rootfs(node.suite), tree)
    (tree / "secret").write_text("of root")
    (tree / "secret").chmod(0o600)
    node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"] + "keep /run/shared\n")
    words = ["srun", "--container-image=/run/shared/tree", "--container-remap-root", "--container-writable"]
    ended = node.run(*words, "bash", "-c", "echo $UID; cat /secret; touch /new", uid=USER)
    node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"])
    assert ended.stdout == "0\n"
    assert ended.stderr.count("Permission denied") == 2


OPTIONS = ["--container-name=box", "--container-remap-root", "--container-save=/tmp/saved.sqsh"]


@pytest.mark.parametrize("option", OPTIONS)
def test_none_of_it_is_for_tenants(node: Walled, option: str) -> None:
    ended = node.run("srun", option, "echo", "ran", uid=TENANT)
    assert "tenants may say --container-image and --container-workdir only (W020)" in ended.stderr
    assert "ran" not in ended.stdout


@pytest.mark.parametrize("option", OPTIONS[:2])
def test_nor_for_users_without_containers(node: Walled, option: str) -> None:
    node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"] + "containers no\n")
    ended = node.run("srun", IMAGE, option, "echo", "ran", uid=USER)
    node.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"])
    assert "the policy allows no containers (W020)" in ended.stderr


def test_a_user_can_pack_a_named_container(node: Walled) -> None:
    """In a step, within the job's limits, by a program of the image: as --container-save does, but as a task."""
    tools = rootfs(node.suite, "squashfs")
    quickly = ["-all-root", "-no-xattrs", "-quiet", "-no-progress", "-noI", "-noD", "-noF"]
    made = node.mini.place / "shared/tools.sqsh"
    words = [*loader(tools), str(tools / "usr/bin/mksquashfs"), str(tools), str(made), *quickly]
    subprocess.run(words, check=True, capture_output=True)
    node.say("install", "-m", "0644", "/run/shared/tools.sqsh", "/tmp/tools.sqsh")
    node.say("install", "-d", "-o", str(USER), "/tmp/packed")
    box = "srun --container-name=box --container-image=/tmp/tools.sqsh --container-mounts=/tmp/packed:/mnt/saved"
    pack = " ".join(["mksquashfs", "/", "/mnt/saved/i.sqsh", *quickly, "-e proc sys dev tmp mnt"])
    steps = [
        f"{box} bash -c 'echo kept >/kept'",
        f"{box} {pack}",
        "srun --container-image=/tmp/packed/i.sqsh cat /kept",
    ]
    ended, said = node.batch(USER, "\n".join(steps))
    assert (ended, said) == ("COMPLETED 0:0", "kept\n")
