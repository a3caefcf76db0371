"""penstock-walls selftest: proves on a node what walls promise, and a weaker build of them is found out (T28, GW-5)."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

import spank

from .walled import TENANT, WALLS, Walled, tenant

PROGRAM = "/usr/sbin/penstock-walls"
SUITE = "forky"
LOOK = ("sh", "-c", "ls -a /run; cat /proc/self/mountinfo")
WRITABLE = "image_enter(int image, struct views *views, const char *cwd, bool writable, struct refusal *why)\n{\n"
CHECKED = "if (S_ISREG(is.st_mode))\n\t\treturn check_file(policy, directory, fd, &is, why);"
WEAKER = [
    {
        "namespace net": ("walls.c", "(policy->host_network ? 0 : CLONE_NEWNET)", "0"),
        "processes": ("walls.c", '{{"hidepid", "invisible"}, {"subset", "pid"}, {0}}', "{{0}}"),
        "image has no devices": ("mounts.h", "(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)", "MOUNT_ATTR_NOSUID"),
        "capabilities": ("confine.c", "cap = 0; prctl(PR_CAPBSET_READ", "cap = 9; prctl(PR_CAPBSET_READ"),
        "system calls": ("filter.c", "SYS_keyctl, ", ""),
        "umask": ("confine.c", "umask(077);", ""),
    },
    {
        "namespace ipc": ("walls.c", "CLONE_NEWIPC | ", ""),
        "image is not written to": ("layers.c", WRITABLE, f"{WRITABLE}\twritable = true;\n"),
        "descriptors": ("confine.c", "close_range(3, ~0U, CLOSE_RANGE_CLOEXEC)", "0"),
        "environment": ("environment.c", "\treturn false;\n}", "\treturn true;\n}"),
        "limits": ("confine.c", "is.rlim_max = wanted->most;", ";"),
        "shm": ("walls.c", "policy->shm_bytes", "policy->tmp_bytes"),
        "devices": ("devices.c", '{"tty", 5, 0},', '{"tty", 5, 0}, {"mem", 1, 1},'),
        "mounts": ("walls.c", "bool devices = policy->device_count;", "bool devices = true;"),
        "output": ("output.c", CHECKED, CHECKED.replace("check_file(policy, directory, fd, &is, why)", "0")),
    },
]
"""What is taken away, by the line that must tell of it: several at a time, for compiling takes longest."""
ALSO = [{"image", "tmp", "shm"}, {"image", "processes"}]
"""Lines that tell of the same things in other words."""


@pytest.fixture(scope="module")
def equipped(node: Walled) -> Walled:
    """A node that has the program."""
    install(node, spank.selftest(node.suite))
    return node


def install(node: Walled, program: Path) -> None:
    """Put the program on the node."""
    shutil.copy(program, node.mini.place / "shared/penstock-walls")
    node.say("cp", "/run/shared/penstock-walls", PROGRAM)


def failed(node: Walled) -> dict[str, str]:
    """Run it: what failed, and why."""
    ended = node.run(PROGRAM, "selftest", "--output", "json")
    told = json.loads(ended.stdout)
    found = {one["name"]: one["words"] for one in told["findings"] if not one["ok"]}
    assert (ended.returncode, told["ok"]) == ((1, False) if found else (0, True))
    assert len(told["findings"]) >= 20
    return found


def ours(node: Walled) -> list[str]:
    """Processes of the trial, and keepers whose slurmstepd another test has killed: here nobody buries their tasks."""
    return [name for name in node.processes() if "probe" in name or "penstock-" in name]


def test_a_node_with_walls_passes(equipped: Walled) -> None:
    """In words and as JSON, and nothing of the trial is left on the node."""
    before, ran = equipped.say(*LOOK), ours(equipped)
    said = equipped.say(PROGRAM, "selftest").splitlines()
    assert failed(equipped) == {}
    assert [line for line in said if not line.startswith("ok ")] == []
    assert (equipped.say(*LOOK), ours(equipped)) == (before, ran)


@pytest.mark.parametrize("broken", ["nonsense\n", tenant(TENANT).replace("output", "ouput")])
def test_a_policy_that_nodes_would_refuse_fails(equipped: Walled, broken: str) -> None:
    """Whoever it is of, before they come."""
    equipped.policy(f"uid-{TENANT}", broken)
    try:
        assert [*failed(equipped)] == ["uids"]
        assert f"uid-{TENANT}" in failed(equipped)["uids"]
    finally:
        equipped.policy(f"uid-{TENANT}", tenant(TENANT))


def test_policies_that_others_can_write_fail(equipped: Walled) -> None:
    """As every step would."""
    equipped.say("chmod", "0777", WALLS)
    try:
        assert "others than root may write there" in failed(equipped)["policies"]
    finally:
        equipped.say("chmod", "0700", WALLS)


def test_a_node_that_lacks_a_right_fails_and_says_which(equipped: Walled) -> None:
    """A pod without it could not make rooms."""
    ended = equipped.run("setpriv", "--bounding-set=-mknod", "--inh-caps=-mknod", PROGRAM, "selftest")
    assert ended.returncode == 1
    assert "failed rights: MKNOD is missing" in ended.stdout


@pytest.mark.parametrize("turn", range(len(WEAKER)))
def test_walls_that_lack_something_are_found_out(equipped: Walled, turn: int) -> None:
    """By the line that names it, and by no other."""
    if equipped.suite != SUITE:
        pytest.skip("the C is the same for all suites")
    install(equipped, spank.selftest(SUITE, partial(weakened, turn)))
    try:
        assert {*failed(equipped)} == WEAKER[turn].keys() | ALSO[turn]
    finally:
        install(equipped, spank.selftest(SUITE))


def weakened(turn: int, name: str, text: str) -> str:
    """What a file says when something is taken away."""
    for file, old, new in WEAKER[turn].values():
        if name == file:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
    return text
