"""A real Slurm node with the plugin: a shared root, an image, two tenants' directories, and people of every class."""

import base64
import os
import pty
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.real_slurm.crashing import until
from tests.real_slurm.guarded import child
from tests.real_slurm.mini_cluster import CONF, MiniCluster, file, mini_cluster

PATIENCE = 20.0
ADMIN, USER, TENANT, OTHER = 1001, 2001, 100001, 100002
TEAM = 3001
"""A group that the user is in."""
STRANGER, UNWRITTEN = 5000, 100009
"""Nobody's uid, and a tenant's that has no policy."""
LOG = "/var/log/slurmd.log"
LOGGING = f"SlurmdLogFile={LOG}\n"  # slurmstepd has nowhere else to say what is not for the user
INSTEAD = {
    "jobacct_gather/none": "jobacct_gather/linux",
    # A job that finds its node busy with the end of another one waits half a minute otherwise, and so does its test.
    "batch_sched_delay=0": "batch_sched_delay=0,sched_interval=1",
}
ENTER = ("--mount", "--net", "--uts", "--ipc", "--pid")
RETRIED = re.compile(r"(?m)^srun: (?:Step created for|Job \d+ step creation).*\n")
"""What srun says when the step before its own takes a moment to go."""
SHARED = "/jail"
IMAGE = "/images/base"
DIGEST = "sha256:" + "a" * 64
WALLS = "/etc/penstock/walls"
POLICIES = {
    "ranges": "penstock-walls 1\nrange 1000-1999 admin\nrange 2000-2999 user\nrange 100000-199999 tenant\n",
    f"uid-{ADMIN}": "penstock-walls 1\nclass admin\n",
    f"uid-{USER}": f"penstock-walls 1\nclass user\nroot {SHARED}\n",
}


def tenant(uid: int, *more: str) -> str:
    """Write a tenant's policy."""
    home = f"/srv/{uid}"
    lines = [f"tenant t-{uid}", f"image {DIGEST} {IMAGE}", f"mount {home}/data /data rw", f"output {home}/out"]
    return "\n".join(["penstock-walls 1", "class tenant", *lines, *more, ""])


@dataclass(frozen=True, slots=True)
class Walled:
    """A running node, w1, whose people are uids."""

    mini: MiniCluster
    machine: int
    suite: str

    def run(self, *command: str, uid: int = 0, given: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a command on the node, outside of any job."""
        words = self.entering(uid, *command)
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "SECRET_KEY": "not for everybody"}
        return subprocess.run(
            words, input=given, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    @contextmanager
    def begin(self, *command: str, uid: int = 0) -> Iterator["subprocess.Popen[str]"]:
        """Run a command while something else happens; it ends with its input."""
        words = self.entering(uid, *command)
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
            yield running

    def typed(self, uid: int, text: str, *command: str) -> tuple[int, str]:
        """Run a command on a terminal, type into it, and tell its exit code and all that the terminal shows."""
        ours, theirs = pty.openpty()
        words = self.entering(uid, *command)
        with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as running:
            os.close(theirs)
            os.write(ours, text.encode())
            shown = b"".join(iter(partial(_read, ours), b""))
        os.close(ours)
        return running.returncode, shown.decode()

    def entering(self, uid: int, *command: str) -> list[str]:
        """Begin a command of somebody's on the node, for whoever runs it beside other things."""
        root = str(self.mini.place / "workplace/root")
        somebody = ["chroot", f"--userspec={uid}:{uid}", "--groups=", root]
        return ["nsenter", "--target", str(self.machine), *ENTER, *somebody, "env", "-C", "/tmp", *command]

    def outside(self, *command: str) -> None:
        """Run a command of the test's own machine where the node's mounts are."""
        words = ["nsenter", "--target", str(self.machine), *ENTER, *command]
        subprocess.run(words, check=True, capture_output=True)

    @contextmanager
    def bound(self, source: str, target: str) -> Iterator[None]:
        """Mount a directory of the node upon another one for a while."""
        root = self.mini.place / "workplace/root"
        self.outside("mount", "--bind", f"{root}{source}", f"{root}{target}")
        try:
            yield
        finally:
            self.outside("umount", f"{root}{target}")

    def say(self, *command: str, uid: int = 0, given: str = "") -> str:
        """Run a command that succeeds, and return what it says."""
        ended = self.run(*command, uid=uid, given=given)
        words = f"{command}: {ended.returncode}\n{ended.stdout}{ended.stderr}"
        assert ended.returncode == 0, words if command[0] == "cat" else f"{words}\n{self.log()[-3000:]}"
        return ended.stdout

    def submit(self, uid: int, script: str, *options: str) -> tuple[int, str]:
        """Submit a batch script: its number, and where its output will be."""
        path = f"{self.place(uid)}/{os.urandom(4).hex()}.out"
        words = ["sbatch", "--parsable", "-o", path, *options]
        return int(self.say(*words, uid=uid, given=f"#!/bin/bash\n{script}\n")), path

    def ending(self, job: int) -> str:
        """Await the end of a job: its state and what it exited with, as in `FAILED 7:0`."""

        def over() -> bool:
            return state()[0] not in ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING")

        def state() -> tuple[str, str]:
            said = self.say("scontrol", "show", "job", "-o", str(job))
            return re.findall(r" JobState=(\w+) ", said)[0], re.findall(r" ExitCode=(\S+) ", said)[0]

        until(over, f"the end of job {job}")
        return " ".join(state())

    def batch(self, uid: int, script: str, *options: str) -> tuple[str, str]:
        """Run a batch script to its end: how it ended, and what it wrote."""
        job, path = self.submit(uid, script, *options)
        return self.ending(job), RETRIED.sub("", self.read(path))

    def processes(self) -> list[str]:
        """Name all that runs on the node, but for what is dead: pid 1 of the test's machine buries nobody."""
        return [line.split(None, 1)[1] for line in self.say("ps", "axo", "stat,args").splitlines() if line[0] != "Z"]

    def place(self, uid: int) -> str:
        """Where somebody's output may lie."""
        return f"/srv/{uid}/out" if uid in (TENANT, OTHER) else "/tmp"

    def read(self, path: str) -> str:
        """Read a file of the node."""
        return self.run("cat", path).stdout

    def write(self, path: str, text: str, mode: str = "0600") -> None:
        """Write a file of the node, as root."""
        self.say("sh", "-c", 'umask 077; cat >"$1" && chmod "$2" "$1"', "write", path, mode, given=text)

    def policy(self, name: str, text: str) -> None:
        """Change a policy; it counts from the next step on."""
        self.write(f"{WALLS}/{name}", text)

    def state(self) -> str:
        """Say what Slurm says of the node, in sinfo's words."""
        return self.run("sinfo", "-h", "-o", "%T").stdout.strip()

    def rest(self) -> None:
        """Await that nothing runs on the node and Slurm uses it; else tell all of it, for it is gone soon."""
        try:
            until(lambda: self.state() == "idle", "an idle node")
        except AssertionError as late:
            for command in (("scontrol", "show", "node"), ("scontrol", "show", "job"), ("ps", "axfo", "pid,stat,args")):
                late.add_note(self.run(*command).stdout)
            late.add_note(self.log()[-6000:])
            raise

    def states(self) -> list[str]:
        """Say it of each node that Slurm knows by now."""
        return self.run("sinfo", "-h", "-N", "-o", "%T").stdout.split()

    def reason(self) -> str:
        """Say why Slurm does not use the node."""
        said = re.findall(r"^   Reason=(.*) \[\S+\]$", self.say("scontrol", "show", "node", "w1"), re.MULTILINE)
        return said[0] if said else ""

    def log(self) -> str:
        """What slurmd and its slurmstepd have said."""
        return self.read(LOG)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # EIO: nobody is at the other end any more
        return b""


@contextmanager
def walled_node(
    root: Path,
    plugin: Path,
    suite: str,
    *,
    adapt: Callable[[dict[str, Any]], dict[str, Any]] = lambda wanted: wanted,
    state: str = "idle",
    nodes: int = 1,
) -> Iterator[Walled]:
    """Run a node with the plugin until the end of the block; `adapt` may change what is on it.

    It is awaited in the state that Slurm shall have it in.
    """
    with mini_cluster(root, nodes=nodes, adapt=lambda wanted: adapt(furnished(wanted, root, plugin))) as mini:
        node = Walled(mini, child(mini.unshare), suite)
        arrange(node, root)
        until(lambda: node.states().count(state) >= nodes, f"nodes that are {state}")
        yield node


def furnished(wanted: dict[str, Any], root: Path, plugin: Path) -> dict[str, Any]:
    """Add the plugin, its policies, and an image, which is the node's own root as it was built."""
    conf = CONF + LOGGING
    for ours, theirs in INSTEAD.items():
        conf = conf.replace(ours, theirs)
    texts = {
        "/etc/slurm/slurm.conf": (conf, 0o644),
        "/etc/slurm/plugstack.conf": ("required /usr/lib/penstock.so\n", 0o644),
        "/etc/passwd": ((root / "etc/passwd").read_text() + people("u{0}:x:{0}:{0}::/tmp:/bin/bash"), 0o644),
        "/etc/group": ((root / "etc/group").read_text() + people("u{0}:x:{0}:") + f"team:x:{TEAM}:u{USER}\n", 0o644),
        **{f"{WALLS}/{name}": (text, 0o600) for name, text in POLICIES.items()},
        **{f"{WALLS}/uid-{uid}": (tenant(uid), 0o600) for uid in (TENANT, OTHER)},
    }
    files = {path: file(text.encode(), mode=mode) | {"owner": "root"} for path, (text, mode) in texts.items()}
    library = {"content": base64.b64encode(plugin.read_bytes()).decode(), "mode": 0o755, "owner": "root"}
    return {
        **wanted,
        "binds": wanted["binds"] | {IMAGE: str(root)},
        "directories": wanted["directories"] | {SHARED: "root", "/images": "root"},
        "files": wanted["files"] | files | {"/usr/lib/penstock.so": library},
    }


def people(line: str) -> str:
    """Write the lines of everybody into a file of users or groups."""
    return "".join(f"{line.format(uid)}\n" for uid in (ADMIN, USER, TENANT, OTHER, STRANGER, UNWRITTEN))


def arrange(node: Walled, root: Path) -> None:
    """Make the shared root, and the directories of two tenants."""
    inside = node.mini.place / "workplace"
    layers = f"lowerdir={root},upperdir={inside}/jail,workdir={inside}/jail-work"
    script = f"mkdir {inside}/jail {inside}/jail-work && mount -t overlay jail -o {layers} {inside}/root{SHARED}"
    node.outside("sh", "-c", script)
    node.say("mkdir", "-m", "1777", "/dev/shm")
    node.say("mkdir", "/dev/pts")
    node.outside("mount", "-t", "devpts", "-o", "ptmxmode=0666,mode=0620,gid=5", "pts", f"{inside}/root/dev/pts")
    node.say("ln", "-s", "pts/ptmx", "/dev/ptmx")
    node.say("sh", "-c", f"touch /node-mark {SHARED}/jail-mark; mkdir -m 0755 /srv; chmod 1777 /tmp {SHARED}/tmp")
    node.say("mknod", "/dev/loop-control", "c", "10", "237")
    node.say("cp", "/usr/lib/penstock.so", f"{SHARED}/usr/lib/")  # commands load it, too
    for uid in (TENANT, OTHER):
        node.say("install", "-d", "-m", "0711", f"/srv/{uid}")
        node.say("install", "-d", "-m", "0700", "-o", str(uid), "-g", str(uid), f"/srv/{uid}/data", f"/srv/{uid}/out")
        node.write(f"/srv/{uid}/data/own", f"of {uid}\n", mode="0644")
