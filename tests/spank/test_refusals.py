"""Whatever is not as it should be refuses the step, with one line that says why; the node stays in service."""

import re
from collections.abc import Iterator

import pytest

from .walled import ADMIN, POLICIES, SHARED, STRANGER, TENANT, UNWRITTEN, USER, WALLS, Walled, tenant

HEAD = "penstock-walls 1\n"
MAN = HEAD + "class user\n"
BROKEN = {
    "unknown word": (USER, f"{MAN}root {SHARED}\nmout /a /b rw\n", 'unknown word "mout"', 12),
    "missing root": (USER, f"{MAN}root /no/such/root\n", "/no/such/root of the node: No such file or directory", 31),
    "root behind a link": (USER, f"{MAN}root /linked\n", "/linked of the node: Too many levels of symbolic links", 31),
    "missing mount": (USER, f"{MAN}root {SHARED}\nmount /no /mnt rw\n", "/no of the node: No such file", 31),
    "missing image": (TENANT, tenant(TENANT).replace("/images/base", "/images/no"), "image /images/no: No such", 30),
    "written image": (TENANT, tenant(TENANT).replace("/images/base", "/images/open"), "others than root may write", 30),
    "no device": (TENANT, tenant(TENANT, "device /dev/plain"), "/dev/plain is not a device", 43),
    "missing output": (TENANT, tenant(TENANT).replace("/out", "/no"), "/srv/100001/no of the node", 31),
}


@pytest.fixture(autouse=True)
def policies(node: Walled) -> Iterator[None]:
    """Put the policies back as they were."""
    node.say("sh", "-c", f"ln -sfn {SHARED} /linked; touch /dev/plain; mkdir -p /images/open; chmod 777 /images/open")
    yield
    for uid, text in ((USER, POLICIES[f"uid-{USER}"]), (TENANT, tenant(TENANT))):
        node.policy(f"uid-{uid}", text)


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_policy_refuses_every_step_of_its_user(node: Walled, case: str) -> None:
    """One line to the user and one to the node's log, with the step, what, why and a code; nobody is drained."""
    uid, text, what, code = BROKEN[case]
    node.policy(f"uid-{uid}", text)
    before = len(node.log())
    ended = node.run("srun", "-n2", "echo", "ran", uid=uid)
    line = rf"penstock: step \d+\.0 of uid {uid} is refused: .*{re.escape(what)}.* \(W0{code}\)"
    assert "ran" not in ended.stdout
    assert ended.returncode == 1
    assert len(re.findall(line, ended.stderr)) == 1
    assert len(re.findall(line, node.log()[before:])) == 1
    assert "drain" not in node.say("sinfo", "-h", "-o", "%T")


def test_a_batch_script_is_refused_as_well(node: Walled) -> None:
    """The line is in the job's own output, and the node is not drained."""
    node.policy(f"uid-{USER}", "nonsense\n")
    ended, said = node.batch(USER, "echo ran")
    assert ended == "FAILED 1:0"
    assert re.search(rf"penstock: step \d+\.batch of uid {USER} is refused: .*\(W012\)", said)
    assert "\nran" not in said
    assert "drain" not in node.say("sinfo", "-h", "-o", "%T")


def test_a_tenants_uid_without_a_policy_is_refused(node: Walled) -> None:
    """Never let through as a user (GW-5)."""
    ended = node.run("srun", "echo", "ran", uid=UNWRITTEN)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "(W013)" in ended.stderr


def test_a_stranger_is_refused(node: Walled) -> None:
    """Without a default nobody gets anything by not being known."""
    ended = node.run("srun", "echo", "ran", uid=STRANGER)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "(W010)" in ended.stderr


def test_a_policy_that_others_can_write_is_no_policy(node: Walled) -> None:
    """Owner and mode are looked at before a word is read."""
    node.say("chmod", "0666", f"{WALLS}/uid-{USER}")
    ended = node.run("srun", "echo", "ran", uid=USER)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "(W011)" in ended.stderr


def test_no_variable_decides_who_somebody_is(node: Walled) -> None:
    """Options and variables of a job never choose its class."""
    words = ["env", f"SLURM_JOB_UID={ADMIN}", f"PENSTOCK_POLICY={WALLS}", "PENSTOCK_CLASS=admin"]
    ended = node.run(*words, "srun", "ls", "/node-mark", uid=USER)
    assert ended.returncode != 0
    assert "/node-mark\n" not in ended.stdout


def test_a_refusal_counts_also_when_the_plugin_is_said_to_be_optional(node: Walled) -> None:
    """What a hook returns would be ignored then, so a refused task ends by itself."""
    node.say("sed", "-i", "s/^required/optional/", "/etc/slurm/plugstack.conf")
    try:
        assert node.run("srun", "echo", "ran", uid=STRANGER).stdout == ""
    finally:
        node.say("sed", "-i", "s/^optional/required/", "/etc/slurm/plugstack.conf")
