"""A cluster whose daemons hold rings of keys: slurmctld with its guard, two workers, a login pod.

Each pod has a kubelet of its own, so that a test decides who sees a new ring when.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.render.keyring import FOLLOW
from penstock.render.labels import key_digest
from penstock.render.reconfigure import KeyringReport, KeyringState, Verdict
from penstock.slurm.keyring import FILE, Ring, Written

from .guarded import PATIENCE, Other, Pod, new_place, pod, show
from .mini_cluster import CONF

FILES = {
    "slurm.conf": CONF + "SelectTypeParameters=CR_Core\nMessageTimeout=2\n",
    "cgroup.conf": "CgroupPlugin=disabled\n",
}
WORKERS = ("w1", "w2")
LOGIN = "login"
PODS = ("ctl", *WORKERS, LOGIN)
SLURMD = ("/usr/sbin/slurmd", "-D", "-Z", "--conf-server", "ctl:6817")
SACKD = "until [ -e /etc/slurm/slurm.jwks ]; do sleep 0.05; done; exec /usr/sbin/sackd -D --conf-server ctl:6817"
UNDER_WAY = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}
STEPS = "srun -n2 hostname >/dev/null && echo steps-ok"


@dataclass(frozen=True, slots=True)
class Job:
    """A job on both workers."""

    number: str
    output: str


@dataclass(frozen=True, slots=True)
class RingedCluster:
    """It runs."""

    ctl: Pod
    volumes: dict[str, Path]

    def show(self, text: str, *pods: str) -> None:
        """Let the kubelets of some pods show them a ring."""
        for name in pods:
            if name == "ctl":
                self.ctl.place.keys = {**self.ctl.place.keys, FILE: text.encode()}
                self.ctl.place.write(FILES)
            else:
                show(self.volumes[name], {FILE: text.encode()}, mode=0o444 if name == LOGIN else 0o600)

    def await_read(self, text: str) -> None:
        """Wait until the guard says that everybody has read a ring."""
        read = KeyringReport(str(key_digest(text.encode())), KeyringState.READ, "by every slurmd and sackd")
        until(lambda: self.ctl.keyring() == read, "everybody has read the ring")

    def slurm(self, *command: str) -> str:
        """Run a command beside slurmctld."""
        return self.ctl.run(*command).strip()

    def nodes(self) -> set[str]:
        """Each node with its state."""
        return set(self.slurm("sinfo", "-hN", "-o", "%N=%t").splitlines())

    def submit(self, command: str) -> Job:
        """Submit a job."""
        output = f"/tmp/{os.urandom(4).hex()}"
        number = self.slurm("sbatch", "--parsable", "-N2", "-n2", "-D", "/tmp", "-o", output, "--wrap", command)
        assert number.isdecimal(), number
        return Job(number, output)

    def state(self, job: Job) -> str:
        """How a job is; nothing when it has ended."""
        return self.slurm("squeue", "-hj", job.number, "-o", "%T")

    def fresh_job(self) -> str:
        """Run a job to its end; what it printed."""
        job = self.submit(STEPS)
        until(lambda: self.state(job) not in UNDER_WAY, f"{job} has not ended: {self.state(job)}")
        return self.slurm("cat", job.output)

    def login(self) -> str:
        """`sinfo` of somebody in the login pod."""
        somebody = "setpriv --reuid 1234 --regid 1234 --clear-groups sinfo -h -o %P"
        enter = f'nsenter --target "$(pgrep -x sackd)" --mount --root {somebody}'
        return self.ctl.run("sh", "-c", enter, user="root").strip()

    def processes(self) -> list[str]:
        """The ids of all daemons: a new one means that one was gone."""
        found = [self.slurm("pgrep", "-x", name) for name in ("slurmctld", "slurmd", "sackd")]
        assert [len(ids.split()) for ids in found] == [1, len(WORKERS), 1]
        return found

    def misunderstandings(self) -> list[str]:
        """What daemons complained of each other's keys."""
        logs = [self.ctl.place.directory / "logs" / f"{name}.log" for name in ("slurmctld", *WORKERS, LOGIN)]
        lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
        return [line for line in lines if "jwt" in line or "authentication" in line]


def until(holds: Callable[[], object], what: str) -> None:
    """Wait for something that takes a moment."""
    bound = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < bound, what
        time.sleep(0.1)


def text_of(ring: Ring) -> str:
    """A ring as it is written now."""
    return Written(ring, datetime.now(UTC)).text()


@contextmanager
def ringed_cluster(root: Path, directory: Path, ring: Ring, *, verb: str = "watch") -> Iterator[RingedCluster]:
    """Run a cluster whose daemons have all been started with one ring, and have been told so."""
    text = text_of(ring)
    place, volumes = new_place(directory, text), {name: directory / name for name in (*WORKERS, LOGIN)}
    for volume in volumes.values():
        volume.mkdir()
    place.write(FILES)
    with pod(root, place, verb=verb, start_seconds=6, others=[*_workers(volumes), *_login(volumes[LOGIN])]) as ctl:
        cluster = RingedCluster(ctl, volumes)
        cluster.show(text, *WORKERS, LOGIN)
        assert ctl.report().verdict is Verdict.LIVE
        until(lambda: cluster.nodes() == {"w1=idle", "w2=idle"}, "two idle nodes")
        cluster.await_read(text)
        yield cluster


def _workers(volumes: dict[str, Path]) -> Iterator[Other]:
    for number, name in enumerate(WORKERS):
        node = ("-N", name, "--conf", f"Port={7000 + number} CPUs=4 RealMemory=500 Feature=compute")
        yield Other(
            name, [*SLURMD, *node], _apart(name) | {"/etc/slurm": f"/mnt/{name}"}, (f"/mnt/{name}", volumes[name])
        )


def _login(volume: Path) -> Iterator[Other]:
    """sackd, and who copies its ring for it."""
    mounts = _apart(LOGIN) | {"/etc/slurm": "/run/etc-of-login", "/mnt/slurm": "/mnt/login"}
    yield Other(
        "keyring", ["sh", "-c", FOLLOW.replace("sleep 2", "sleep 0.2")], mounts, ("/mnt/login", volume), user="slurm"
    )
    yield Other(LOGIN, ["sh", "-c", SACKD], mounts, user="slurm")


def _apart(name: str) -> dict[str, str]:
    """No pod speaks through the socket of another."""
    return {"/run/slurm": f"/run/of-{name}", "/run/slurmctld": "/run/nobody"}
