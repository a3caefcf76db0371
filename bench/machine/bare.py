"""The same daemons without any of us: plain processes, started in the right order by a script as quick as can be.

Programs, words, variables, users, configuration and data are those of the running cluster, read from its processes; a
root file system is mounted for each daemon before the clock starts. What is left out is all that containers add: their
monitors, their pid and network namespaces, their limits, their probes. This module is also that script: it runs as the
first process of namespaces of its own, reads what to start from stdin, and says when it has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from machine.subject import Found

ADDRESS = "10.255.0.1"
"""Where every name leads to; with 127.0.0.1 alone Slurm finds no address at all."""
ORDER = (("mariadb", 3306), ("slurmdbd", 6819), ("slurmctld", 6817))
"""Who must listen before the next one is started."""
TOGETHER = ("slurmd", "slurmrestd", "sackd")
NAMESPACES = ("--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")
NAMED = ("unshare", "--uts", "sh", "-c", 'hostname "$1"; shift; exec "$@"', "sh")
"""slurmctld and slurmdbd run only on the host that their configuration names."""
_KEPT = {"etc/slurm": "etc", "etc/penstock/walls": "walls"}
"""What is copied from its container, and as what: configuration, and policies, without which a node is drained."""
_DATA = {"mariadb": "var/lib/mysql", "slurmctld": "var/spool/slurmctld"}
"""What each finds again at its next start."""


def described(containers: Sequence[Found], place: Path, *, workers: int) -> dict[str, Any]:
    """All that is needed to start the daemons of a running cluster without it."""
    alone = ("mariadb", "slurmdbd", "slurmctld", "slurmrestd", "sackd")
    daemons = [_daemon(one.name, one.name, one, place) for one in containers if one.name in alone]
    slurmd = next(one for one in containers if one.name == "slurmd")
    for number in range(workers):
        daemon = _daemon("slurmd", f"slurmd-{number}", slurmd, place)
        daemon["hostname"] = f"bare-{number}"
        port = f" Port={7000 + number}"
        daemon["words"] = [word + port if word.startswith("Features=") else word for word in daemon["words"]]
        daemons.append(daemon)
    names = {
        name
        for one in containers
        for line in Path(f"/proc/{one.pid}/root/etc/hosts").read_text().splitlines()
        if not line.startswith(("127.", "#", ":"))
        for name in line.split()[1:]
    }
    return {"daemons": daemons, "names": sorted(names)}


def _daemon(role: str, name: str, container: Found, place: Path) -> dict[str, Any]:
    """A daemon as it runs in its container: below tini, when it is."""
    first = container.pid
    root, pid = Path(f"/proc/{first}/root"), _below(first)
    kept = place / name
    for where, copy in _KEPT.items():
        if not (kept / copy).exists() and (root / where).is_dir():
            _copied(root / where, kept / copy)
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    # Not those of the process: Slurm's daemons leave notes for themselves there when they start anew.
    variables = json.loads((container.place / "config.json").read_bytes())["process"]["env"]
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return {
        "role": role, "name": name, "hostname": (root / "etc/hostname").read_text().strip(),
        "kept": str(kept), "lower": _lower(first),
        "words": [word.decode() for word in words if not word.startswith(b"--init-file=")],
        "env": dict(one.split("=", 1) for one in variables),
        "uid": int(status["Uid"].split()[0]), "gid": int(status["Gid"].split()[0]), "data": _DATA.get(role, ""),
    }  # fmt: skip


def with_data(claims: Path, place: Path) -> None:
    """Copy what the daemons of a cluster that is down have kept, but the addresses of its nodes."""
    for name, claim in {"mariadb": "data-mariadb-0", "slurmctld": "statesave-slurm-controller-0"}.items():
        _copied(next(claims.glob(f"*/{claim}*")), place / name / "data")
    for path in (place / "slurmctld" / "data").rglob("node_state*"):
        path.unlink()


def _copied(source: Path, target: Path) -> None:
    shutil.copytree(source, target)
    for path in (target, *target.rglob("*")):
        found = (source / path.relative_to(target)).stat()
        os.chown(path, found.st_uid, found.st_gid)


def _below(first: int) -> int:
    words = Path(f"/proc/{first}/cmdline").read_bytes().split(b"\0")
    if not words[0].endswith(b"tini"):
        return first
    return int(Path(f"/proc/{first}/task/{first}/children").read_text().split()[0])


def _lower(pid: int) -> str:
    """The image below a container's root."""
    for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[4] == "/":
            return next(one.removeprefix("lowerdir=") for one in fields[-1].split(",") if one.startswith("lowerdir="))
    raise RuntimeError(f"process {pid} has no root")


@contextmanager
def machine(wanted: dict[str, Any], place: Path) -> Iterator[subprocess.Popen[str]]:
    """Namespaces in which everything is mounted and nothing is started: a line to stdin starts it."""
    words = ["unshare", *NAMESPACES, sys.executable, str(Path(__file__).resolve()), str(place)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        try:
            _say(running, json.dumps(wanted))
            _hear(running, "mounted")
            yield running
        finally:
            running.kill()


def started(running: subprocess.Popen[str], *, at_once: bool = False) -> dict[str, float]:
    """Start all daemons, each when those before it listen, or all at once; when each of them was."""
    _say(running, "at once" if at_once else "start")
    return dict(json.loads(_hear(running, "{")))


def stopped(running: subprocess.Popen[str]) -> None:
    """End all daemons in order, so that the next start finds their data in order too."""
    _say(running, "stop")
    _hear(running, "stopped")


def enter(running: subprocess.Popen[str], place: Path) -> list[str]:
    """How to run a command beside slurmctld."""
    first = int(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()[0])
    return ["nsenter", "-t", str(first), "--mount", "--net", "--uts", "chroot", str(place / "slurmctld" / "root")]


def _say(running: subprocess.Popen[str], text: str) -> None:
    if running.stdin is None:
        raise RuntimeError("it has no stdin")
    running.stdin.write(f"{text}\n")
    running.stdin.flush()


def _hear(running: subprocess.Popen[str], begins: str) -> str:
    line = running.stdout.readline() if running.stdout else ""
    if not line.startswith(begins):
        raise RuntimeError(f"the bare machine said {line!r}; its logs are beside its roots")
    return line


def main() -> None:
    """The script itself: mount, then start, then stop, as told."""
    place, wanted = Path(sys.argv[1]), json.loads(sys.stdin.readline())
    _command("ip", "link", "set", "lo", "up")
    _command("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")
    roots = {daemon["name"]: _root(daemon, place, wanted["names"]) for daemon in wanted["daemons"]}
    print("mounted", flush=True)
    running: dict[str, subprocess.Popen[bytes]] = {}
    for line in sys.stdin:
        if line.strip() == "start":
            print(json.dumps(_start(wanted["daemons"], roots, place, running)), flush=True)
        elif line.strip() == "at once":
            began = time.time()
            running |= {one["name"]: _launch(one, roots[one["name"]], place) for one in wanted["daemons"]}
            print(json.dumps({"begin": began, "all started": time.time()}), flush=True)
        else:
            for role, port in ORDER:
                _await(port, running[role])  # one that is about to start does not hear that it shall end
            _stop(running)
            print("stopped", flush=True)


def _root(daemon: dict[str, Any], place: Path, names: Sequence[str]) -> Path:
    base = place / str(daemon["name"])
    upper, work, root = (base / name for name in ("upper", "work", "root"))
    for directory in (upper, work, root):
        directory.mkdir(parents=True, exist_ok=True)
    layers = f"lowerdir={daemon['lower']},upperdir={upper},workdir={work}"
    _command("mount", "-t", "overlay", "overlay", "-o", layers, str(root))
    for kind, where in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "run")):
        _command("mount", "-t", kind, kind, str(root / where))
    _command("mount", "--rbind", "/dev", str(root / "dev"))
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {' '.join(names)}\n")
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n")
    binds = {where: base / copy for where, copy in {**_KEPT, daemon["data"]: "data"}.items()}
    for where, source in binds.items():
        if where and source.is_dir():
            (root / where).mkdir(parents=True, exist_ok=True)
            _command("mount", "--bind", str(source), str(root / where))
    for name in ("slurm", "slurmctld", "slurmdbd", "mysqld"):
        (root / "run" / name).mkdir()
        os.chown(root / "run" / name, daemon["uid"], daemon["gid"])
    (root / "var/spool/slurmd").mkdir(parents=True, exist_ok=True)
    return root


def _start(
    daemons: Sequence[dict[str, Any]], roots: dict[str, Path], place: Path, running: dict[str, subprocess.Popen[bytes]]
) -> dict[str, float]:
    times = {"begin": time.time()}
    for role, port in ORDER:
        daemon = next(one for one in daemons if one["role"] == role)
        running[role] = _launch(daemon, roots[role], place)
        try:
            _await(port, running[role])
        except RuntimeError as problem:
            said = (place / f"{role}.log").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{role}: {problem}\n{said}") from problem
        times[f"{role} listens"] = time.time()
    for daemon in daemons:
        if daemon["role"] in TOGETHER:
            running[daemon["name"]] = _launch(daemon, roots[daemon["name"]], place)
    times["all started"] = time.time()
    return times


def _launch(daemon: dict[str, Any], root: Path, place: Path) -> subprocess.Popen[bytes]:
    with (place / f"{daemon['name']}.log").open("ab") as log:
        who = f"--userspec={daemon['uid']}:{daemon['gid']}"
        return subprocess.Popen(
            [*NAMED, daemon["hostname"], "/usr/sbin/chroot", who, "--groups=", str(root), *daemon["words"]],
            env=daemon["env"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip


def _await(port: int, daemon: subprocess.Popen[bytes]) -> None:
    """Wait until somebody listens; only looking, for a connection would be one more thing to answer."""
    while daemon.poll() is None:
        if any(is_listened_on(port, Path(f"/proc/self/net/{name}").read_text()) for name in ("tcp", "tcp6")):
            return
        time.sleep(0.002)
    raise RuntimeError(f"nobody listens on {port}: it ended with {daemon.returncode}")


def is_listened_on(port: int, table: str) -> bool:
    """Whether the kernel's table of sockets has one that listens on a port."""
    rows = (line.split() for line in table.splitlines()[1:])
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


def _stop(running: dict[str, subprocess.Popen[bytes]]) -> None:
    ordered = [name for name in running if name not in dict(ORDER)] + [name for name, _ in reversed(ORDER)]
    for name in ordered:
        running[name].terminate()
        running[name].wait()
    running.clear()


def _command(*words: str) -> None:
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


if __name__ == "__main__":
    main()
