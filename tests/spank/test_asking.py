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


@pytest.mark.parametrize(("said", "options", "answer"), [
    (["WRITABLE=true"], [], "written"),
    (["WRITABLE=0"], [], "fixed"),
    (["READONLY=no"], [], "written"),
    (["READONLY=y"], [], "fixed"),
    (["WRITABLE=1", "READONLY=1"], [], "written"),
    (["WRITABLE=yes"], ["--container-readonly"], "fixed"),
    (["READONLY=true"], ["--container-writable"], "written"),
])  # fmt: skip
def test_a_container_is_writable_by_variables(node: Walled, said: list[str], options: list[str], answer: str) -> None:
    """Options count more; of two variables the first."""
    node.say("install", "-d", "-m", "1777", "/jail/open-to-all")
    look = "touch /open-to-all/$$ 2>/dev/null && echo written || echo fixed"
    given = [f"PYXIS_CONTAINER_{one}" for one in said]
    assert node.say("env", *given, "srun", IMAGE, *options, "bash", "-c", look, uid=USER) == f"{answer}\n"


def test_other_switches_are_variables_too(node: Walled) -> None:
    given = ["env", "PYXIS_CONTAINER_REMAP_ROOT=1", "PYXIS_CONTAINER_MOUNT_HOME=true"]
    look = ["bash", "-c", "echo $UID; grep -c ' /mine ' /proc/self/mounts"]
    node.say("install", "-d", "-o", str(USER), "/jail/mine")
    home = ["env", "HOME=/mine"]
    assert node.say(*given, *home, "srun", IMAGE, *look, uid=USER) == "0\n1\n"
    ended = node.run(
        *given, *home, "srun", IMAGE, "--no-container-remap-root", "--no-container-mount-home", *look, uid=USER
    )
    assert ended.stdout == f"{USER}\n0\n"


def test_a_switch_that_is_neither_is_refused(node: Walled) -> None:
    """It could be somebody's protection."""
    ended = node.run("env", "PYXIS_CONTAINER_READONLY=perhaps", "srun", IMAGE, "echo", "ran", uid=USER)
    assert (ended.stdout, "PYXIS_CONTAINER_READONLY is perhaps; say true or false (W020)" in ended.stderr) == ("", True)


def test_memory_can_be_mounted(node: Walled) -> None:
    """The step's own, which raises nobody and goes with it; places are made for it."""
    mounts = "--container-mounts=tmpfs:/mnt/fast/deep,tmpfs:/mnt/fixed:ro"
    look = "echo x >/mnt/fast/deep/x && ls /mnt/fast/deep; touch /mnt/fixed/x"
    look += "; grep -c '/mnt/.*nosuid,nodev' /proc/self/mounts"
    for _ in range(2):
        ended = node.run("srun", IMAGE, mounts, "bash", "-c", f"ls /mnt/fast/deep; {look}", uid=USER)
        assert (ended.stdout, "Read-only file system" in ended.stderr) == ("x\n2\n", True)


def test_a_switch_and_its_opposite_are_refused(node: Walled) -> None:
    """Where it is said, before there is a job."""
    ended = node.run("srun", IMAGE, "--container-writable", "--container-readonly", "echo", "ran", uid=USER)
    assert (ended.stdout, "both --container-writable and --container-readonly (W020)" in ended.stderr) == ("", True)
