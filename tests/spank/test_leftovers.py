"""What a job leaves behind on a node: what the kernel ends by itself, and what the epilog takes away (T28)."""

import re
from collections.abc import Iterator

import pytest

from tests.real_slurm.crashing import until

from .walled import ADMIN, TENANT, USER, Walled

LOOSE = "setsid sleep 98765 & sleep 98764"
SHARED = "mkdir /dev/shm/{0} && touch /dev/shm/{0}/inner /dev/shm/{0}-file && ipcmk -M 4096 && ipcmk -Q && ipcmk -S 1"


@pytest.fixture(autouse=True)
def bare(node: Walled) -> Iterator[None]:
    """Take away what a test left."""
    yield
    node.say("scancel", "--partition=compute")
    node.rest()
    node.run("pkill", "-9", "sleep")
    node.say("sh", "-c", "rm -rf /dev/shm/*; ipcrm -a")


def sleepers(node: Walled) -> list[str]:
    """What still runs of those jobs."""
    return [name for name in node.processes() if name.startswith("sleep 9876")]


def running(node: Walled, uid: int, script: str = LOOSE) -> int:
    """Start a job, and wait until its programs are there."""
    job, _ = node.submit(uid, script)
    until(lambda: len(sleepers(node)) == 2, "two programs of the job")
    return job


def orphaned(node: Walled, job: int) -> None:
    """Kill the job's slurmstepd, as a lack of memory might."""
    node.say("pkill", "-9", "-f", rf"^slurmstepd: \[{job}\.")


def objects(node: Walled) -> str:
    """Shared memory, queues and semaphores of the node, and files in memory."""
    listed = node.say("sh", "-c", "ls -A /dev/shm; ipcs -m; ipcs -q; ipcs -s")
    return "\n".join(line for line in listed.splitlines() if re.match(r"0x|\S+$", line))


def test_the_kernel_ends_what_a_tenants_slurmstepd_left(node: Walled) -> None:
    """With the keeper, who goes with slurmstepd: before anybody asks for the end of the job."""
    job = running(node, TENANT)
    orphaned(node, job)
    until(lambda: sleepers(node) == [], "the end of the tenant's programs")
    node.say("scancel", str(job))
    node.rest()


def test_a_tenant_leaves_no_memory(node: Walled) -> None:
    """It was the room's own."""
    before = objects(node)
    assert node.batch(TENANT, SHARED.format("tenant"))[0] == "COMPLETED 0:0"
    assert objects(node) == before


def test_the_epilog_ends_what_a_users_slurmstepd_left(node: Walled) -> None:
    """Slurm itself would leave it: nobody else knew of those programs."""
    job = running(node, USER)
    orphaned(node, job)
    assert len(sleepers(node)) == 2
    node.say("scancel", str(job))
    node.rest()
    assert sleepers(node) == []


def test_a_users_memory_goes_with_the_last_job(node: Walled) -> None:
    """Never while another job of theirs is on the node, even one that has no step there at the moment."""
    before = objects(node)
    node.say("salloc", "-Q", "--no-shell", "-J", "waits", "-n1", "--mem=100", uid=USER)
    [waiting] = node.say("squeue", "-h", "-o", "%i", "-n", "waits").split()
    node.say("srun", "--jobid", waiting, "true", uid=USER)
    assert node.batch(USER, SHARED.format("user"), "--mem=100")[0] == "COMPLETED 0:0"
    until(lambda: node.say("squeue", "-h", "-o", "%i").split() == [waiting], "the other job alone on the node")
    assert objects(node) != before
    node.say("scancel", waiting)
    node.rest()
    assert objects(node) == before


def test_others_keep_what_is_theirs(node: Walled) -> None:
    """Of an admin nothing is taken, not even when a user's job ends; nothing is drained."""
    node.say("sh", "-c", SHARED.format("admin"), uid=ADMIN)
    before = objects(node)
    assert node.batch(USER, SHARED.format("user"))[0] == "COMPLETED 0:0"
    node.rest()
    assert objects(node) == before
