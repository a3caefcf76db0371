"""The same small Slurm three times: without the plugin, with one that has nothing to do, and with a shared root.

Two nodes each, and one person, alice, who is logged in on a login node. On the first two her account and her home are
the nodes' own; on the third only the shared root knows her, and her session has entered it as a login pod's sshd does.
"""

import base64
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from tests.real_slurm.crashing import until
from tests.real_slurm.guarded import child
from tests.real_slurm.mini_cluster import CONF, MiniCluster, file, mini_cluster

PLAIN, ADMIN, USER = SIDES = ("no plugin", "class admin", "class user")
PATIENCE = 300.0
"""Seconds for a case: Slurm looks at time limits twice a minute, and other cases run beside it."""
UID = 2001
HOME = "/home/alice"
SHARED = "/jail"
WALLS = "/etc/penstock/walls"
LOG = "/var/log/slurmd-%n.log"
# Numbers of jobs that look like nothing else; nodes in an order of their own, with room for all cases at once.
MORE = f"""\
FirstJobId=700001
SlurmdLogFile={LOG}
JobAcctGatherFrequency=task=1
SelectTypeParameters=CR_Core
NodeName=w1 NodeHostname=ctl NodeAddr=10.255.0.1 Port=7000 Weight=1 CPUs=64 RealMemory=500 Feature=compute
NodeName=w2 NodeHostname=ctl NodeAddr=10.255.0.1 Port=7001 Weight=2 CPUs=64 RealMemory=500 Feature=compute
"""
# Slurm's own time between SIGTERM and SIGKILL: two seconds are too few for a trap on a machine that is busy.
INSTEAD = {"jobacct_gather/none": "jobacct_gather/linux", "KillWait=2": "KillWait=30"}
POLICIES = {ADMIN: "class admin\n", USER: f"class user\nroot {SHARED}\n"}
ENTER = ("--mount", "--net", "--uts", "--ipc", "--pid")
VARIABLES = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "USER": "alice",
    "LOGNAME": "alice",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}
# What a login pod has before sshd begins: the socket and the configuration of Slurm's commands, in the shared root.
MOUNTS = """\
for place in /run/slurm /etc/slurm; do mount --bind "$place" "$1$place"; done
exec bash -c "$2" enter "$1" "${@:3}"
"""
SESSION = ("setpriv", "--reuid=alice", "--regid=alice", "--init-groups", "env", "-i")
LOGIN_PLACES = ("proc", "sys", "dev", "tmp", "run/slurm", "etc/slurm", ".penstock")
LOGIN_FILES = (".penstock/root", "etc/hosts", "etc/resolv.conf")


@dataclass(frozen=True, slots=True)
class Side:
    """A running cluster, and its login node."""

    name: str
    mini: MiniCluster
    machine: int

    def session(self, script: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a script of bash as alice on the login node."""
        variables = [f"{name}={value}" for name, value in VARIABLES.items()]
        command = [*self._login(), *SESSION, *variables, "bash", "-c", script, "session", *words]
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def asked(self, *command: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a command as root of the nodes."""
        words = [*self._entering(), "chroot", self._place(), *command]
        return subprocess.run(words, input=given, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def root(self, *command: str, given: str = "") -> str:
        """Run a command as root of the nodes; it must succeed."""
        ended = self.asked(*command, given=given)
        assert ended.returncode == 0, f"{self.name}: {command}: {ended}"
        return ended.stdout

    def log(self) -> str:
        """What slurmd and slurmstepd of the first node have said."""
        return self.root("cat", LOG.replace("%n", "w1"))

    def _login(self) -> list[str]:
        if self.name != USER:
            return [*self._entering(), "chroot", self._place()]
        script = resources.files("penstock.render").joinpath("enter_shared_root.sh").read_text("utf-8")
        own = ["unshare", "--mount", "--propagation", "private", "chroot", self._place()]
        return [*self._entering(), *own, "bash", "-c", MOUNTS, "mounts", SHARED, script]

    def _place(self) -> str:
        return str(self.mini.place / "workplace/root")

    def _entering(self) -> list[str]:
        return ["nsenter", "--target", str(self.machine), *ENTER]


@contextmanager
def side(name: str, root: Path, plugin: Path) -> Iterator[Side]:
    """Run one of the three until the end of the block."""
    with mini_cluster(root, nodes=2, adapt=partial(_furnished, name, root, plugin)) as mini:
        one = Side(name, mini, child(mini.unshare))
        _arrange(one)
        until(lambda: _idle(one), "idle nodes")
        yield one


def _furnished(name: str, root: Path, plugin: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    conf = CONF + MORE
    for usual, here in INSTEAD.items():
        assert usual in conf, usual
        conf = conf.replace(usual, here)
    texts = {"/etc/slurm/slurm.conf": conf, **_people(root, SHARED if name == USER else "")}
    if name != PLAIN:
        texts |= {
            "/etc/slurm/plugstack.conf": "required /usr/lib/penstock.so\n",
            f"{WALLS}/ranges": "penstock-walls 1\n",
            f"{WALLS}/default": f"penstock-walls 1\n{POLICIES[name]}",
        }
    files = {path: file(text.encode(), mode=0o644) | {"owner": "root"} for path, text in texts.items()}
    library = {"content": base64.b64encode(plugin.read_bytes()).decode(), "mode": 0o755, "owner": "root"}
    places = {PLAIN: (), ADMIN: ("",), USER: ("", SHARED)}[name]  # commands load it, too
    return {
        **wanted,
        "mounts": [*_terminals(), *(_shared_root(Path(wanted["workplace"]), root) if name == USER else ())],
        "files": wanted["files"] | files | {f"{place}/usr/lib/penstock.so": library for place in places},
        "daemons": [_static(daemon) for daemon in wanted["daemons"]],
    }


def _terminals() -> Iterator[dict[str, Any]]:
    yield {"place": "/dev/shm", "words": ["-t", "tmpfs", "-o", "mode=1777", "shm"]}
    yield {"place": "/dev/pts", "words": ["-t", "devpts", "-o", "ptmxmode=0666,mode=0620,gid=5", "pts"]}


def _shared_root(workplace: Path, root: Path) -> Iterator[dict[str, Any]]:
    """As workers have it: the root, and its people for the node's own look at who is who."""
    upper, work = workplace.with_name("jail"), workplace.with_name("jail-work")
    for directory in (upper, work):
        directory.mkdir()
    layers = f"lowerdir={root},upperdir={upper},workdir={work}"
    yield {"place": SHARED, "words": ["-t", "overlay", "-o", layers, "jail"]}
    yield {"place": "/var/lib/extrausers", "words": ["--bind", f"{workplace}/root{SHARED}/etc"]}


def _static(daemon: dict[str, Any]) -> dict[str, Any]:
    """Have slurmd be a node of slurm.conf: those that register themselves come in any order, and so do jobs on them."""
    name = daemon["name"]
    return {**daemon, "command": ["/usr/sbin/slurmd", "-D", "-N", name]} if name in ("w1", "w2") else daemon


def _people(root: Path, place: str) -> Mapping[str, str]:
    """The accounts of whoever knows alice, by their files."""
    return {
        f"{place}/etc/passwd": (root / "etc/passwd").read_text() + f"alice:x:{UID}:{UID}:Alice,,,:{HOME}:/bin/bash\n",
        f"{place}/etc/group": (root / "etc/group").read_text() + f"alice:x:{UID}:\nresearch:x:4000:alice\n",
    }


def _arrange(one: Side) -> None:
    place = SHARED if one.name == USER else ""
    one.root("ln", "-s", "pts/ptmx", "/dev/ptmx")
    one.root("chmod", "1777", "/tmp")
    one.root("mkdir", "-p", *(f"{place}/{name}" for name in LOGIN_PLACES))
    one.root("touch", *(f"{place}/{name}" for name in LOGIN_FILES))
    one.root("install", "-d", "-o", str(UID), "-g", str(UID), f"{place}{HOME}")


def _idle(one: Side) -> bool:
    said = one.asked("sinfo", "-h", "-N", "-o", "%N=%T").stdout
    return said.split() == ["w1=idle", "w2=idle"]
