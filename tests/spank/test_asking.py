"""What is asked for by variables and options, as with Pyxis: obeyed or refused, and never passed over."""

import pytest

from .walled import USER, Walled

IMAGE = "--container-image=/"


@pytest.mark.parametrize("name", ["IMAGE", "MOUNTS"])
def test_a_variable_that_is_too_long_is_refused(node: Walled, name: str) -> None:
    """Nobody runs outside of the container that they asked for."""
    given = [f"PYXIS_CONTAINER_{name}=/{'x' * 70000}"]
    more = [] if name == "IMAGE" else [IMAGE]
    ended = node.run("env", *given, "srun", *more, "echo", "ran", uid=USER)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"the variable PYXIS_CONTAINER_{name} cannot be read; 65535 bytes are the most (W020)" in ended.stderr


def test_memory_can_be_mounted(node: Walled) -> None:
    """The step's own, which raises nobody and goes with it; places are made for it."""
    mounts = "--container-mounts=tmpfs:/mnt/fast/deep,tmpfs:/mnt/fixed:ro"
    look = "echo x >/mnt/fast/deep/x && ls /mnt/fast/deep; touch /mnt/fixed/x; grep -c '/mnt/.*nosuid,nodev' /proc/self/mounts"
    for _ in range(2):
        ended = node.run("srun", IMAGE, mounts, "bash", "-c", f"ls /mnt/fast/deep; {look}", uid=USER)
        assert (ended.stdout, "Read-only file system" in ended.stderr) == ("x\n2\n", True)


def test_a_switch_and_its_opposite_are_refused(node: Walled) -> None:
    """Where it is said, before there is a job."""
    ended = node.run("srun", IMAGE, "--container-writable", "--container-readonly", "echo", "ran", uid=USER)
    assert (ended.stdout, "both --container-writable and --container-readonly (W020)" in ended.stderr) == ("", True)
