"""Images that are squashfs files: mounted read-only for a step, and gone with it."""

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from .walled import IMAGE, TENANT, USER, Walled, tenant

LOOP_GET_STATUS64, LOOP_INFO = 0x4C05, 232
"""Linux' number of that question, and the bytes of its answer, which begins with the file's device."""


@pytest.fixture(autouse=True)
def policy(node: Walled, squashed: str) -> Iterator[None]:
    """Grant the tenant this image in place of the other one."""
    node.policy(f"uid-{TENANT}", tenant(TENANT).replace(IMAGE, squashed))
    yield
    node.policy(f"uid-{TENANT}", tenant(TENANT))


def loops(node: Walled) -> list[str]:
    """Which images of a node are on loop devices: whoever else tests on this machine has some, too."""
    root = Path(f"/proc/{node.machine}/root{node.mini.place}/workplace/root")
    own = (root / "node-mark").stat().st_dev  # what is written on a node lies in memory of its own
    return [device.name for device in Path("/sys/block").glob("loop*") if backed_by(device.name) == own]


def backed_by(device: str) -> int | None:
    """The file system of the file that a loop device shows; None when it shows none, or no more."""
    status = bytearray(LOOP_INFO)
    try:
        with Path(f"/dev/{device}").open("rb") as loop:
            fcntl.ioctl(loop, LOOP_GET_STATUS64, status)
    except OSError:
        return None
    return int.from_bytes(status[:8], "little")


def test_a_tenants_room_is_made_of_a_squashfs_file(node: Walled) -> None:
    """Two tasks use one device, and none is left when they are done (T28)."""
    said = node.say("srun", "-n2", "bash", "-c", "cat /data/own; echo /squashed-*", uid=TENANT)
    assert sorted(said.splitlines()) == ["/squashed-mark"] * 2 + [f"of {TENANT}"] * 2
    assert loops(node) == []


def test_a_device_is_there_while_the_step_runs(node: Walled) -> None:
    """Were it not seen, nobody would notice that one is left."""
    with node.begin("srun", "bash", "-c", "echo ready; read end", uid=TENANT) as step:
        assert step.stdout
        assert step.stdout.readline() == "ready\n"
        assert len(loops(node)) == 1
        step.communicate("end\n")
    assert loops(node) == []


def test_such_a_room_cannot_be_written_to(node: Walled) -> None:
    """Not even where its files could be by their modes."""
    ended = node.run("srun", "bash", "-c", "touch /new /usr/bin/new", uid=TENANT)
    assert ended.stderr.count("Read-only file system") == 2


def test_a_file_that_is_no_image_is_refused(node: Walled) -> None:
    """With the kernel's words, and without a device left behind."""
    node.write("/images/wrong.sqsh", "x" * 8192, mode="0644")
    node.policy(f"uid-{TENANT}", tenant(TENANT).replace(IMAGE, "/images/wrong.sqsh"))
    ended = node.run("srun", "true", uid=TENANT)
    assert "kind squashfs: Invalid argument (W041)" in ended.stderr
    assert loops(node) == []


def test_a_user_can_use_a_squashfs_file_that_they_may_read(node: Walled, squashed: str) -> None:
    """As with Pyxis; a file that is closed to them stays closed."""
    node.say("cp", squashed, "/tmp/open.sqsh")
    node.say("install", "-m", "0600", squashed, "/tmp/closed.sqsh")
    look = ["bash", "-c", "echo /squashed-*"]
    assert node.say("srun", "--container-image=/tmp/open.sqsh", *look, uid=USER) == "/squashed-mark\n"
    closed = node.run("srun", "--container-image=/tmp/closed.sqsh", *look, uid=USER)
    assert "--container-image /tmp/closed.sqsh: Permission denied (W030)" in closed.stderr
    assert loops(node) == []
