"""slurmctld's pod as far as its configuration goes: the real guard, the real slurmctld, and a kubelet played here.

The kubelet's part is small: it swaps the directory behind `..data` when an object changes, starts slurmctld once there
is a configuration, and starts it again when it ends. The volume of the state outlives the pod, all else goes with it.
"""

import os
import re
import select
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from penstock.render.reconfigure import KeyringReport, Report, read_keyring_report, read_report, script

from .mini_cluster import ROOT, begin, file
from .slurm_parser import NAMESPACES, require_means

R = TypeVar("R")
SLURM_UID = 64030
STATE = "/var/spool/slurmctld"
PATIENCE = 30  # seconds; a report takes well under one, this only ends what will never come
KUBELET = """\
until [ -e /etc/slurm/slurm.conf ]; do sleep 0.02; done
while :; do /usr/sbin/slurmctld -D; sleep 0.2; done
"""
PATIENT = 'until (: </dev/tcp/ctl/6817) 2>/dev/null; do sleep 0.05; done; exec "$@"'


def show(volume: Path, files: Mapping[str, bytes], *, mode: int) -> None:
    """Show a volume's new content: a new directory, one swap, away with the old one."""
    fresh = f"..{uuid.uuid4().hex}"
    (volume / fresh).mkdir(parents=True)
    for name, content in files.items():
        (volume / fresh / name).write_bytes(content)
        (volume / fresh / name).chmod(0o555 if name.endswith(".sh") else mode)
    old = volume / (volume / "..data").readlink() if (volume / "..data").is_symlink() else None
    (volume / "..data_tmp").symlink_to(fresh)
    (volume / "..data_tmp").rename(volume / "..data")
    for link in volume.iterdir():
        if not link.name.startswith("..") and link.name not in files:
            link.unlink()
    for name in files:
        if not (volume / name).is_symlink():
            (volume / name).symlink_to(f"..data/{name}")
    if old:
        shutil.rmtree(old)


@dataclass(slots=True)
class Place:
    """What outlives a pod: the objects behind its volumes, and its state."""

    directory: Path
    keys: Mapping[str, bytes]
    edits: int = 0

    def write(self, files: Mapping[str, str]) -> None:
        """Change the objects, as kubelet shows it."""
        self.edits += 1
        texts = {name: text.encode() for name, text in files.items()}
        show(self.directory / "candidate", {**texts, **self.keys}, mode=0o444)

    @property
    def last_good(self) -> Path:
        """Where the guard keeps what it falls back to."""
        return self.directory / "state/penstock-last-good"


@dataclass(frozen=True, slots=True)
class Pod:
    """A running pod."""

    place: Place
    machine: int
    log: int
    """What the guard says, to be waited for."""

    def report(self) -> Report:
        """Await the next report."""
        return self._await(read_report)

    def keyring(self) -> KeyringReport:
        """Await the next word on the ring of keys."""
        return self._await(read_keyring_report)

    def _await(self, read: Callable[[str], R | None]) -> R:
        while select.select([self.log], [], [], PATIENCE)[0]:
            if report := read(_line(self.log)):
                return report
        said = (self.place.directory / "logs/slurmctld.log").read_text(errors="replace")
        raise TimeoutError(f"no report in {PATIENCE} s; slurmctld says:\n{said[-2000:]}")

    def run(self, *command: str, user: str = "slurm") -> str:
        """Run a command in the pod, as slurmctld's user."""
        root = str(self.place.directory / "workplace/root")
        enter = ["nsenter", "--target", str(self.machine), "--mount", "--net", "--uts", "--ipc", "--pid"]
        words = [*enter, "chroot", f"--userspec={user}:{user}", "--groups=", root, *command]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
        return ended.stdout + ended.stderr

    @property
    def slurmctld(self) -> str:
        """The process id of slurmctld: a new one means that it was gone."""
        return self.run("pgrep", "-x", "slurmctld").strip()

    def restart_guard(self) -> None:
        """End the guard's script; its container's supervisor starts it again."""
        self.run("pkill", "-f", "^bash -c set -u -o pipefail")


def _line(log: int) -> str:
    read = b""
    while not read.endswith(b"\n"):
        read += os.read(log, 1)
    return read.decode()


def new_place(directory: Path, ring: str = "") -> Place:
    """Make the volumes."""
    for name in ("candidate", "state", "logs", "workplace"):
        (directory / name).mkdir()
    directory.chmod(0o755)
    os.chown(directory / "state", SLURM_UID, SLURM_UID)
    auth = {"slurm.jwks": ring.encode()} if ring else {"slurm.key": os.urandom(1024)}
    return Place(directory, {**auth, "jwt.key": os.urandom(32)})


@contextmanager
def pod(
    root: Path,
    place: Place,
    *,
    verb: str = "watch",
    start_seconds: int = 60,
    others: Sequence["Other"] = (),
    adapt: Callable[[dict[str, Any]], dict[str, Any]] = lambda wanted: wanted,
) -> Iterator[Pod]:
    """Run the pod until the end of the block, and on its machine other pods; `adapt` may change what that is."""
    require_means()
    log = place.directory / "logs/reconfigure.log"
    log.unlink(missing_ok=True)
    os.mkfifo(log)
    reading = os.open(log, os.O_RDWR)  # held open for writing too: a guard that restarts is no end of the log
    command = ["unshare", *NAMESPACES, sys.executable, "-S", "-m", "tests.real_slurm.machine"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as machine:
        try:
            begin(machine, adapt(request(root, place, verb, start_seconds, others)))
            yield Pod(place, child(machine.pid), reading)
        finally:
            machine.kill()  # pid 1 of the namespaces goes with it, and everything inside
            os.close(reading)


def child(pid: int) -> int:
    return int(re.findall(r"\d+", Path(f"/proc/{pid}/task/{pid}/children").read_text())[0])


@dataclass(frozen=True, slots=True)
class Other:
    """A container of another pod: it sees some directories of the machine in the place of others."""

    name: str
    command: Sequence[str]
    mounts: Mapping[str, str]
    """What it sees where: by path, the directory of the machine that is shown there."""
    volume: tuple[str, Path] | None = None
    """A directory of the test, and where on the machine it is found."""
    user: str = "root"

    def daemon(self) -> dict[str, Any]:
        """Describe it."""
        command = ["bash", "-c", PATIENT, self.name, *self.command]
        return {"name": self.name, "user": self.user, "env": {}, "command": command, "mounts": dict(self.mounts)}


def request(root: Path, place: Place, verb: str, start_seconds: int, others: Sequence[Other] = ()) -> dict[str, Any]:
    """Describe the machine of the pod."""
    environment = {
        "STATE_DIRECTORY": STATE, "SLURMCTLD_PORT": "6817", "START_SECONDS": str(start_seconds), "RING_SECONDS": "1",
    }  # fmt: skip
    # A sidecar that ends is started again; a step before slurmctld is not.
    again = 'while :; do bash -c "$0" "$@"; done' if verb != "once" else 'exec bash -c "$0" "$@"'
    guard = ["bash", "-c", again, script(), "reconfigure", verb]
    return {
        "root": str(root),
        "workplace": str(place.directory / "workplace"),
        "binds": {
            "/mnt/slurm": str(place.directory / "candidate"),
            STATE: str(place.directory / "state"),
            **{other.volume[0]: str(other.volume[1]) for other in others if other.volume},
        },
        "logs": str(place.directory / "logs"),
        "hostname": "ctl",
        "directories": {
            **{path: other.user for other in others for path in (*other.mounts, *other.mounts.values())},
            **dict.fromkeys(("/etc/slurm", "/run/slurmctld"), "slurm"),
        },
        "files": {"/etc/slurm/of-the-image.conf": file(b"")},
        "daemons": [
            {"name": "reconfigure", "user": "slurm", "env": environment, "command": guard},
            {"name": "slurmctld", "user": "slurm", "env": {}, "command": ["bash", "-c", KUBELET]},
            *(other.daemon() for other in others),
        ],
    }
