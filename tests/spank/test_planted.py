"""What people put where root looks for something: links, pipes, doors of /proc."""

from collections.abc import Iterator

import pytest

from .walled import POLICIES, SHARED, USER, Walled

PLAIN = POLICIES[f"uid-{USER}"]


@pytest.fixture(autouse=True)
def common(node: Walled) -> Iterator[None]:
    """A directory of the shared root that many may write to, and a disk of the node that is shown in it."""
    node.say(
        "sh", "-c", f"rm -rf {SHARED}/projects; mkdir -p /disk {SHARED}/projects/disk {SHARED}/real; touch /disk/on"
    )
    node.say("chmod", "0777", f"{SHARED}/projects", "/disk")
    yield
    node.policy(f"uid-{USER}", PLAIN)


def test_a_users_link_leads_no_view_of_the_node_elsewhere(node: Walled) -> None:
    """Not upon /etc, where the next setuid program would believe what lies on the disk."""
    node.say("srun", "sh", "-c", "mv /projects/disk /projects/away && ln -s /etc /projects/disk", uid=USER)
    node.policy(f"uid-{USER}", f"{PLAIN}mount /disk /projects/disk rw\n")
    ended = node.run("srun", "ls", "/etc", uid=USER)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"/projects/disk is a link of uid {USER} in a directory of uid 0, mode 0777" in ended.stderr
    node.policy(f"uid-{USER}", f"{PLAIN}mount /disk /projects/disk/new rw\n")
    assert "/projects/disk is a link of uid" in node.run("srun", "true", uid=USER).stderr
    assert node.run("ls", f"{SHARED}/etc/new").returncode == 2, "nothing was made behind the link"


def test_a_link_of_roots_is_not_for_others_to_rename(node: Walled) -> None:
    """Who may rename in a directory chooses which of its links has the name that root shows something at."""
    node.say("sh", "-c", f"rmdir {SHARED}/projects/disk && ln -s /etc {SHARED}/projects/disk")
    node.policy(f"uid-{USER}", f"{PLAIN}mount /disk /projects/disk rw\n")
    assert "is a link of uid 0 in a directory of uid 0, mode 0777" in node.run("srun", "true", uid=USER).stderr


def test_roots_own_links_lead_views_where_they_lead(node: Walled) -> None:
    """Relative and absolute ones, in the middle of a path and at its end, also when nothing is there yet."""
    links = f"ln -sfn ../real {SHARED}/usr/linked; ln -sfn /usr/linked/deep/../deeper {SHARED}/linked"
    node.say("sh", "-c", f"rm -rf {SHARED}/real/*; {links}")
    node.policy(f"uid-{USER}", f"{PLAIN}mount /disk /linked/disk rw\n")
    assert node.say("srun", "ls", "/real/deeper/disk", uid=USER) == "on\n"


def test_a_users_directory_can_be_where_a_view_goes(node: Walled) -> None:
    """It lies where root said, whoever made the directory."""
    node.say("chown", str(USER), f"{SHARED}/projects", f"{SHARED}/projects/disk")
    node.policy(f"uid-{USER}", f"{PLAIN}mount /disk /projects/disk/deep rw\n")
    assert node.say("srun", "ls", "/projects/disk/deep", uid=USER) == "on\n"


def test_what_the_node_keeps_raises_nobody(node: Walled) -> None:
    """People may write there."""
    node.policy(f"uid-{USER}", f"{PLAIN}keep /disk\n")
    options = node.say("srun", "sh", "-c", "grep -E ' /(disk|dev|dev/pts) ' /proc/self/mounts", uid=USER).splitlines()
    assert len(options) == 3
    assert all("nosuid" in line for line in options)
    assert ["nodev" in line for line in options if " /disk " in line] == [True]


def test_a_pipe_is_no_image(node: Walled) -> None:
    """Nobody writes to it, and slurmstepd would wait for that."""
    node.say("sh", "-c", "rm -f /tmp/pipe; mkfifo -m 0666 /tmp/pipe", uid=USER)
    ended = node.run("srun", "--container-image=/tmp/pipe", "true", uid=USER)
    assert "/tmp/pipe is neither a directory nor a file (W030)" in ended.stderr


@pytest.mark.parametrize("door", ["/proc/self/root", "/proc/self/cwd", "/proc/self/fd/0"])
def test_no_door_of_proc_leads_to_the_node(node: Walled, door: str) -> None:
    """Paths are opened by a process of root's that still holds the node by descriptors."""
    image = node.run("srun", f"--container-image={door}", "true", uid=USER)
    assert f"--container-image {door}: Too many levels of symbolic links (W030)" in image.stderr
    mount = node.run("srun", "--container-image=/", f"--container-mounts={door}:/mnt", "true", uid=USER)
    assert f"--container-mounts: {door}: Too many levels of symbolic links (W031)" in mount.stderr


def test_an_image_shows_nothing_of_what_lies_under_mounts(node: Walled) -> None:
    """A directory of the shared root, or all of it: of a place where the node's own is shown there is nothing else."""
    under = f"{SHARED}/projects/box"
    copy = (
        f"mkdir {under} && cp -a {SHARED}/usr {SHARED}/bin {SHARED}/lib {SHARED}/lib64 {under}/ && mkdir '{under}/a b'"
    )
    node.say("sh", "-c", f"{copy} && echo under | tee {SHARED}/projects/disk/under >'{under}/a b/under'")
    node.policy(f"uid-{USER}", f"{PLAIN}mount /disk /projects/disk rw\nmount /disk /projects/box/lower rw\n")
    node.say("sh", "-c", f"mkdir -p {under}/lower && echo under >{under}/lower/under")
    look = "ls -A /projects/disk; echo; ls -A /lower; ls '/a b'"
    whole = node.run("srun", "--container-image=/", "bash", "-c", look, uid=USER)
    part = node.run("srun", "--container-image=/projects/box", "bash", "-c", look, uid=USER)
    assert (whole.stdout, part.stdout) == ("\n", "\nunder\n")
    again = "srun --container-name=box --container-image=/ ls -A /projects/disk\n"
    mounts = "--container-mounts=/tmp:/projects/disk/new"
    ended, said = node.batch(USER, f"{again}{again}srun --container-image=/ {mounts} ls -A /projects/disk")
    assert (ended, said) == ("COMPLETED 0:0", "new\n")
