"""A node that missed a job's epilog: whoever has the job's number next has nothing of it (T28)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import spank
from penstock.images.recipe import book
from rootfs import rootfs
from tests.real_slurm.crashing import until

from .squashed import squash
from .walled import POLICIES, USER, Walled, walled_node

OTHER_USER = 2002
ROOMS, JOBS = "/run/penstock/rooms", "/run/penstock/jobs"
IMAGE = "--container-image=/tmp/box.sqsh"
PLUGSTACK = "/etc/slurm/plugstack.conf"
GONE = "--container-name box is not there (W020)"


def looked_after(wanted: dict[str, Any]) -> dict[str, Any]:
    """Have somebody start slurmd again whenever it ends."""
    daemons = [
        one | {"command": ["bash", "-c", 'while :; do "$@"; done', "again", *one["command"]]}
        if one["name"] == "w1"
        else one
        for one in wanted["daemons"]
    ]
    return {**wanted, "daemons": daemons}


@pytest.fixture(scope="module", params=list(book().suites))
def lost(request: pytest.FixtureRequest) -> Iterator[Walled]:
    """A node with an image, and with somebody else who has the same policy."""
    suite = str(request.param)
    with walled_node(rootfs(suite), spank.plugin(suite), suite, adapt=looked_after) as node:
        squash(rootfs(suite), rootfs(suite, "squashfs"), node.mini.place / "shared/image.sqsh")
        node.say("install", "-m", "0644", "/run/shared/image.sqsh", "/tmp/box.sqsh")
        node.policy(f"uid-{OTHER_USER}", POLICIES[f"uid-{USER}"])
        node.say("sh", "-c", f"echo other:x:{OTHER_USER}:{OTHER_USER}::/tmp:/bin/bash >>/etc/passwd")
        yield node


@pytest.fixture(autouse=True)
def clean(lost: Walled) -> Iterator[None]:
    """Nothing is left in the end, of whomever it was."""
    yield
    lost.say("scancel", "--partition=compute")
    until(lambda: lost.run("ls", ROOMS).stdout + lost.run("ls", JOBS).stdout == "", "the end of all that was kept")
    lost.rest()


@contextmanager
def without_epilogs(node: Walled) -> Iterator[None]:
    """Have Slurm forget the plugin: what was to be done in the epilog is missed."""
    node.say("mv", PLUGSTACK, f"{PLUGSTACK}.away")
    try:
        yield
    finally:
        node.say("mv", f"{PLUGSTACK}.away", PLUGSTACK)


def allocate(node: Walled, uid: int) -> str:
    """Begin a job that has no step yet; gives its number."""
    node.say("salloc", "-Q", "--no-shell", "-n1", uid=uid)
    return node.say("squeue", "-h", "-o", "%i").strip()


def leave(node: Walled) -> None:
    """Have a job leave a container and a mark, which then have the number of the next job, as with a new slurmctld."""
    job = allocate(node, USER)
    words = ["srun", "--jobid", job, "--container-name=box", IMAGE, "bash", "-c", "echo secret >/kept"]
    node.say(*words, uid=USER)
    with without_epilogs(node):
        node.say("scancel", job)
        node.rest()
    following = int(job) + 1
    node.say("mv", f"{JOBS}/{USER}-{job}", f"{JOBS}/{USER}-{following}")
    # Where the container lay before its user was part of its name there is one to find as well.
    node.say("sh", "-c", 'cd "$1"; for it in job-*; do mv $it $(echo $it | sed "s/job-$2/job-$3/"); done', "sh",
             ROOMS, job, str(following))  # fmt: skip


@pytest.mark.parametrize("uid", [OTHER_USER, USER])
def test_the_next_job_of_that_number_has_nothing_of_it(lost: Walled, uid: int) -> None:
    """Neither the files nor the mark: both go when the new job begins, whosever they were."""
    leave(lost)
    job = allocate(lost, uid)
    ended = lost.run("srun", "--jobid", job, "--container-name=box:exec", IMAGE, "cat", "/kept", uid=uid)
    assert (ended.stdout, GONE in ended.stderr) == ("", True), ended
    assert lost.say("ls", JOBS) == f"{uid}-{job}\n"
    assert lost.say("ls", ROOMS) == f"job-{job}-{uid}\n"


def slurmd(lost: Walled) -> str:
    """The number of slurmd itself, which is alive."""
    return lost.run("pgrep", "-x", "-r", "S,R", "slurmd").stdout.strip()


def test_a_job_that_lives_keeps_what_is_its_own_though_slurmd_does_not(lost: Walled) -> None:
    """Also between two steps, when no slurmstepd of it is there."""
    job, before = allocate(lost, USER), slurmd(lost)
    box = ["srun", "--jobid", job, "--container-name=box"]
    lost.say(*box, IMAGE, "bash", "-c", "echo mine >/kept", uid=USER)
    lost.say("kill", "-KILL", before)
    until(lambda: slurmd(lost) not in ("", before), "another slurmd")
    until(lambda: lost.run(*box, "cat", "/kept", uid=USER).stdout == "mine\n", "a step with what was kept")
