"""Where Pyxis is loaded, container options are its own; everybody is where they belong all the same."""

import base64
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spank
from penstock.images.plugin import STANDARD
from penstock.images.recipe import book
from rootfs import rootfs
from tests.real_slurm.crashing import until

from .walled import STRANGER, TENANT, UNWRITTEN, USER, Walled, walled_node

SOURCE = Path(__file__).with_name("pyxis_like.c")
PLACE = "/usr/lib/pyxis_like.so"
CASES = (("before", ""), ("before", "options=no"), ("behind", ""), ("behind", "options=no"))
"""Where it is loaded, and what ours is told. The last is what Penstock renders, where it can tell."""
PROGRAM, RAN = "/tmp/program", "/tmp/ran"
WAYS = {
    "option": ("srun", f"--container-image={PROGRAM}"),
    "variable": ("env", f"PYXIS_CONTAINER_IMAGE={PROGRAM}", "srun"),
}
COMPILE = 'mkdir /out && gcc "$@" -shared -o /out/pyxis_like.so /pyxis_like.c'


def compiled(suite: str, place: Path) -> bytes:
    """Compile the stand-in."""
    (place / "upper").mkdir()
    shutil.copy(SOURCE, place / "upper")
    command = ["/bin/sh", "-ec", COMPILE, "sh", *STANDARD]
    ended = spank.in_a_room(str(rootfs(suite, "toolchain")), place, command)
    assert ended.returncode == 0, ended.stdout
    return (place / "upper/out/pyxis_like.so").read_bytes()


def beside(wanted: dict[str, Any], library: bytes, order: str, argument: str) -> dict[str, Any]:
    """Have it loaded before ours, or behind it."""
    plugstack = wanted["files"]["/etc/slurm/plugstack.conf"]
    ours = base64.b64decode(plugstack["content"]).decode().strip()
    lines = [f"required {PLACE}\n", f"{ours} {argument}\n"]
    text = "".join(lines if order == "before" else reversed(lines)).encode()
    files = {
        "/etc/slurm/plugstack.conf": plugstack | {"content": base64.b64encode(text).decode()},
        PLACE: {"content": base64.b64encode(library).decode(), "mode": 0o755, "owner": "root"},
    }
    return {**wanted, "files": wanted["files"] | files}


@pytest.fixture(scope="module", params=[(suite, *case) for suite in book().suites for case in CASES], ids="-".join)
def both(request: pytest.FixtureRequest) -> Iterator[Walled]:
    """A node with both plugins; ours is told of that, or finds it out."""
    suite, order, argument = request.param
    with tempfile.TemporaryDirectory(prefix="penstock-pyxis-") as name:
        library = compiled(suite, Path(name))

    def adapt(wanted: dict[str, Any]) -> dict[str, Any]:
        return beside(wanted, library, order, argument)

    with walled_node(rootfs(suite), spank.plugin(suite), suite, adapt=adapt) as node:
        node.say("install", "-d", "-m", "1777", RAN)
        node.write(PROGRAM, f"#!/bin/sh\ntouch {RAN}/$1\n", mode="0755")
        yield node


@pytest.fixture
def ran(both: Walled) -> Callable[[], set[str]]:
    """Tell in which hooks the program has run since the test began, once slurmstepd has been through all of them."""
    both.say("sh", "-c", f"rm -f {RAN}/*")

    def told() -> set[str]:
        until(lambda: both.state() == "idle", "the end of the job")
        # Its last hook comes after it has told slurmctld so.
        until(lambda: not any("slurmstepd: [" in name for name in both.processes()), "the end of slurmstepd")
        return set(both.say("ls", RAN).split())

    return told


def is_before(node: Walled) -> bool:
    """Whether the other plugin comes before ours."""
    return node.read("/etc/slurm/plugstack.conf").startswith(f"required {PLACE}")


def test_a_users_container_options_are_for_pyxis(both: Walled) -> None:
    """We neither take them nor mind them, and the user is in the shared root."""
    ended = both.run("srun", "--container-image=theirs", "sh", "-c", "echo $SLURM_JOB_NAME; ls /jail-mark", uid=USER)
    assert (ended.returncode, ended.stdout) == (0, "theirs\n/jail-mark\n")
    assert "refused" not in ended.stderr
    assert "provided by both" not in ended.stderr


def test_a_users_variables_are_for_pyxis(both: Walled) -> None:
    """They are what options are."""
    ended = both.run("env", "PYXIS_CONTAINER_IMAGE=nvcr.io#nvidia/pytorch", "srun", "ls", "/jail-mark", uid=USER)
    assert (ended.returncode, ended.stdout) == (0, "/jail-mark\n"), ended.stderr


@pytest.mark.parametrize("way", WAYS)
def test_pyxis_runs_programs_for_users(both: Walled, ran: Callable[[], set[str]], way: str) -> None:
    """This is what tenants are kept from: were it not to run for anybody, the next tests would prove nothing."""
    assert both.run(*WAYS[way], "true", uid=USER).returncode == 0
    # Its very last hook comes when the job may be over already, and slurmd ends whatever runs in a step of such a job.
    assert ran() | {"exit"} == {"user_init", "task_init_privileged", "task_init", "task_exit", "exit"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("uid", [TENANT, UNWRITTEN, STRANGER])
def test_pyxis_runs_no_program_for_a_tenant_or_for_who_is_refused(
    both: Walled, ran: Callable[[], set[str]], uid: int, way: str
) -> None:
    """Neither before tasks are born, when it would run on the node, nor afterwards."""
    ended = both.run(*WAYS[way], "true", uid=uid)
    assert ran() == set()
    assert (ended.returncode == 0) == (uid == TENANT and not is_before(both)), ended.stderr


def test_pyxis_runs_no_program_for_a_tenants_batch_step(both: Walled, ran: Callable[[], set[str]]) -> None:
    """Its variables come with the job, and reach the script's own step, too."""
    words = ("env", f"PYXIS_CONTAINER_IMAGE={PROGRAM}", "sbatch", "--parsable", "-o", f"{both.place(TENANT)}/batch")
    job = int(both.say(*words, uid=TENANT, given="#!/bin/sh\ncat /data/own\n"))
    ending = both.ending(job)
    assert ran() == set()
    assert ending == ("FAILED 1:0" if is_before(both) else "COMPLETED 0:0")


def test_a_tenant_is_walled_all_the_same(both: Walled) -> None:
    """What a tenant asks Pyxis for does not lead out of the policy's image; and Pyxis has to come behind us."""
    ended = both.run("srun", "--container-image=theirs", "sh", "-c", "cat /data/own; ls /node-mark", uid=TENANT)
    assert ended.stdout == ("" if is_before(both) else f"of {TENANT}\n")
    assert (f"plugstack.conf: {PLACE} comes before penstock.so" in ended.stderr) == is_before(both)
    assert "drain" not in both.state()
