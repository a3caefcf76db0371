"""Workers without privileges run jobs all the same, with no more rights than these need (NS-10)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from penstock.api.kinds import API_VERSION
from penstock.api.objects import Json
from penstock.engine.capabilities import NAMES
from penstock.machine.manifest import usual_images

from .jobs import job_state
from .site import Site, eventually, is_ready
from .traces import traces

RIGHTS = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SYS_NICE"}
"""Of facts/slurm.md 2.3; Docker gives a container twice as many."""
SOMEBODY = ("setpriv", "--reuid=33", "--regid=33", "--clear-groups")
"""A user whom every Debian knows: sackd vouches for nobody else."""
WORKER = "plain-0"


def manifest(suite: str) -> list[Json]:
    """A cluster whose only worker asks for no privileges, and that says nothing about cgroups."""
    images = usual_images(suite)
    refs = {"slurmKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"}}
    refs |= {"jwtKeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"}}
    ours = {"controllerRef": {"name": "slurm"}}
    specs = {
        # With it each step is bound to its CPUs, which is a right of its own.
        ("Controller", "slurm"): {
            **refs, "slurmctld": {"image": images["slurm"]}, "reconfigure": {"image": images["slurm"]},
            "extraConf": "TaskPlugin=task/affinity\n",
        },
        ("NodeSet", "plain"): {
            **ours, "replicas": 1, "partition": {"enabled": True, "config": "Default=YES"},
            "slurmd": {"image": images["worker"], "securityContext": {"privileged": False}},
        },
        ("LoginSet", "login"): {
            **ours, "login": {"image": images["login"]}, "initconf": {"image": images["login"]},
            "sssdConfRef": {"name": "slurm-sssd-conf", "key": "sssd.conf"},
        },
    }  # fmt: skip
    return [
        {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
        for (kind, name), spec in specs.items()
    ]


@pytest.fixture(scope="module")
def plain(shared: Site) -> Iterator[Site]:
    """Have such a cluster beside the default one."""
    other = shared.beside(f"{shared.name}-u")
    other.manifest = other.directory / "plain.yaml"
    other.manifest.write_text(yaml.safe_dump_all(manifest(other.suite)))
    try:
        other.up("--file", str(other.manifest))
        yield other
    finally:
        other.down()
    assert traces(other) == []


def test_slurmd_has_just_the_rights_that_jobs_need(plain: Site) -> None:
    """The kernel's word on the container's first process, and on slurmd itself."""
    for status in (plain.inside(WORKER, "cat", "/proc/1/status"), plain.inside(WORKER, *SLURMD)):
        for field in ("CapPrm", "CapEff", "CapBnd"):
            assert rights(status, field) == RIGHTS


SLURMD = ("sh", "-c", 'cat "/proc/$(pgrep -xo slurmd)/status"')


def test_jobs_run_as_whoever_submits_them(plain: Site) -> None:
    """srun, in several tasks that are bound to CPUs; and what they run has no rights at all."""
    told = plain.slurm(*SOMEBODY, "srun", "--ntasks=2", "--overcommit", "--cpu-bind=cores", "--chdir=/tmp", "id", "-u")
    assert told.splitlines() == ["33", "33"]
    status = plain.slurm(*SOMEBODY, "srun", "--chdir=/tmp", "cat", "/proc/self/status")
    assert rights(status, "CapEff") == set()
    assert plain.slurm("srun", "id", "-u") == "0\n"


def test_a_batch_job_writes_its_output_and_can_be_cancelled(plain: Site) -> None:
    """Also by root, of somebody else, and with all that it started."""
    script = 'echo begun; sleep 86399 & trap "echo told" USR1; wait; sleep 86398'
    job = int(
        plain.slurm(*SOMEBODY, "sbatch", "--parsable", "--output=/tmp/%j.out", "--chdir=/tmp", f"--wrap={script}")
    )
    output = f"/tmp/{job}.out"
    eventually(lambda: plain.execute(WORKER, "cat", output).out, lambda text: text == "begun\n")
    assert plain.inside(WORKER, "stat", "-c", "%u:%g", output) == "33:33\n"
    plain.slurm("scancel", "--batch", "--signal=USR1", str(job))
    eventually(lambda: plain.inside(WORKER, "cat", output), lambda text: text == "begun\ntold\n")
    plain.slurm("scancel", str(job))
    eventually(lambda: job_state(plain, job), lambda state: state == "CANCELLED")
    eventually(lambda: plain.execute(WORKER, "pgrep", "-u", "33").out, lambda pids: pids == "")


def rights(status: str, field: str) -> set[str]:
    """The capabilities of a process."""
    [mask] = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith(f"{field}:")]
    return {name for number, name in enumerate(NAMES) if mask >> number & 1}


KNOCK = """
set -eu
ssh-keygen -q -t ed25519 -N '' -f /root/key
install -d -m 700 /root/.ssh; cp /root/key.pub /root/.ssh/authorized_keys
useradd --create-home --shell /bin/bash ada
install -d -m 700 -o ada -g ada ~ada/.ssh
install -m 600 -o ada -g ada /root/key.pub ~ada/.ssh/authorized_keys
options="-i /root/key -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
ssh $options root@127.0.0.1 id -un
ssh $options ada@127.0.0.1 id -un 2>&1 | grep -o 'you have no active jobs'
"""


def test_sshd_has_the_rights_that_it_needs(plain: Site) -> None:
    """Root comes in, and who has no job there does not; for that it listens, logs, and confines itself."""
    body = next(one for one in manifest(plain.suite) if one["kind"] == "NodeSet")
    ssh = {"enabled": True, "sssdConfRef": {"name": "slurm-sssd-conf", "key": "sssd.conf"}}
    spec = body["spec"] | {"ssh": ssh, "partition": {"enabled": False}}
    plain.apply(body | {"metadata": {"name": "door"}, "spec": spec})
    try:
        plain.until("nodesets", "door", is_ready)
        eventually(lambda: plain.execute("door-0", "test", "-s", "/run/sshd.pid").code, lambda code: code == 0)
        assert plain.inside("door-0", "bash", "-c", KNOCK).split("\n")[:2] == ["root", "you have no active jobs"]
    finally:
        # There is no slurmrestd here to say that it is idle: it goes with the cluster.
        plain.says("delete", "nodeset", "door", "--wait=false")
