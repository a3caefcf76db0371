"""A real Slurm cluster for tests: slurmctld, some slurmd, and slurmrestd on a socket that tests can reach."""

import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .slurm_parser import NAMESPACES, require_means

ROOT = Path(__file__).resolve().parents[2]
RESTD_UID = 64031
CONF = """\
ClusterName=mini
SlurmctldHost=ctl
SlurmUser=slurm
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key
SlurmctldParameters=enable_configless
MaxNodeCount=64
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/none
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd-%n
SlurmdPidFile=/run/slurmd-%n.pid
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
SchedulerParameters=batch_sched_delay=0
NodeSet=compute Feature=compute
PartitionName=compute Nodes=compute Default=YES
"""


@dataclass(frozen=True, slots=True)
class MiniCluster:
    """A running cluster."""

    socket: Path
    """slurmrestd listens here."""
    jwt_key: bytes
    logs: Path
    nodes: tuple[str, ...]
    place: Path
    """What the machine is furnished from; its root is in `workplace/root`."""
    unshare: int
    """The process id of the parent of the machine's first process."""


@contextmanager
def mini_cluster(
    root: Path, *, nodes: int = 3, adapt: Callable[[dict[str, Any]], dict[str, Any]] = lambda wanted: wanted
) -> Iterator[MiniCluster]:
    """Run a cluster from a root file system of `tools/rootfs.py`; it ends with the block.

    `adapt` may change what is on the machine.
    """
    require_means()
    with tempfile.TemporaryDirectory(prefix="penstock-mini-") as name:
        place = Path(name)
        place.chmod(0o755)
        for directory in ("workplace", "shared", "logs"):
            (place / directory).mkdir()
        os.chown(place / "shared", RESTD_UID, RESTD_UID)
        key, names = os.urandom(32), tuple(f"w{number}" for number in range(1, nodes + 1))
        command = ["unshare", *NAMESPACES, sys.executable, "-S", "-m", "tests.real_slurm.machine"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as machine:
            begin(machine, adapt(request(root, place, key, names)))
            try:
                yield MiniCluster(place / "shared/rest.socket", key, place / "logs", names, place, machine.pid)
            finally:
                machine.kill()  # pid 1 of the namespaces: everything inside goes with it


def begin(machine: "subprocess.Popen[str]", wanted: dict[str, Any]) -> None:
    """Hand the request over and wait until the daemons are started."""
    assert machine.stdin is not None
    assert machine.stdout is not None
    machine.stdin.write(json.dumps(wanted) + "\n")
    machine.stdin.flush()
    if machine.stdout.readline() != "ready\n":
        raise RuntimeError(f"the machine of the mini cluster did not start (exit {machine.wait()}); see above")


def request(root: Path, place: Path, key: bytes, names: tuple[str, ...]) -> dict[str, Any]:
    """Describe the machine."""
    files = {
        "/etc/slurm/slurm.conf": file(CONF.encode(), mode=0o644),
        "/etc/slurm/cgroup.conf": file(b"CgroupPlugin=disabled\n", mode=0o644),
        "/etc/slurm/slurm.key": file(os.urandom(1024)),
        "/etc/slurm/jwt.key": file(key),
    }
    spools = {f"/var/spool/slurmd-{name}": "root" for name in names} | {f"/run/slurm-{name}": "root" for name in names}
    return {
        "root": str(root),
        "workplace": str(place / "workplace"),
        "binds": {"/run/shared": str(place / "shared")},
        "logs": str(place / "logs"),
        "hostname": "ctl",
        # Several slurmd that start at once would each make /run/slurm, and of 24.11 those who lose that race die.
        "directories": {"/run/slurm": "root", "/run/slurmctld": "slurm", "/var/spool/slurmctld": "slurm", **spools},
        "files": files,
        "daemons": [*daemons(), *(worker(name, 7000 + index) for index, name in enumerate(names))],
    }


def file(content: bytes, *, mode: int = 0o600) -> dict[str, Any]:
    """Describe a file of the slurm user."""
    return {"content": base64.b64encode(content).decode(), "mode": mode, "owner": "slurm"}


def daemons() -> Iterator[dict[str, Any]]:
    """Describe slurmctld and slurmrestd."""
    yield {"name": "slurmctld", "user": "slurm", "env": {}, "command": ["/usr/sbin/slurmctld", "-D"]}
    # Without accounting 24.11's slurmrestd must not try to load that half of the API.
    options = ["-a", "rest_auth/jwt", "-s", "openapi/slurmctld", "unix:/run/shared/rest.socket"]
    command = ["/usr/sbin/slurmrestd", *options]
    yield {"name": "slurmrestd", "user": "slurmrestd", "env": {"SLURM_JWT": "daemon"}, "command": command}


def worker(name: str, port: int) -> dict[str, Any]:
    """Describe a slurmd that registers itself."""
    parameters = f"Port={port} CPUs=4 RealMemory=500 Feature=compute"
    command = ["/usr/sbin/slurmd", "-D", "-Z", "-N", name, "--conf", parameters]
    # Each serves a socket there, and of those who make it at the same moment one dies. The first one's is for commands.
    apart = {} if name == "w1" else {"/run/slurm": f"/run/slurm-{name}"}
    return {"name": name, "user": "root", "env": {}, "command": command, "mounts": apart}
