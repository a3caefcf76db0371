"""A machine of its own on which a small Slurm cluster runs until its stdin is closed: pid 1 of fresh namespaces.

Reads one request (a line of JSON) from stdin, writes `ready` when every daemon has been started. When the test that
holds the other end goes away, for whatever reason, pid 1 ends, and the kernel ends all the rest.
"""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.real_slurm import sandbox


def main() -> None:
    """Furnish the machine, start the daemons, wait for the end of the test."""
    request = json.loads(sys.stdin.readline())
    root = sandbox.mount(request["root"], Path(request["workplace"]))
    sandbox.furnish_devices(root, [])
    sandbox.connect(root, request["hostname"])
    for inside, outside in request["binds"].items():
        bind(root / inside.lstrip("/"), outside)
    for path, owner in request["directories"].items():
        make_directory(root / path.lstrip("/"), sandbox.number_of(owner, root))
    for mount in request.get("mounts", []):
        make_directory(root / mount["place"].lstrip("/"), 0)
        sandbox.command("mount", *mount["words"], str(root / mount["place"].lstrip("/")))
    for path, file in request["files"].items():
        uid = sandbox.number_of(file["owner"], root)
        sandbox.place(root / path.lstrip("/"), base64.b64decode(file["content"]), uid, file["mode"])
    for daemon in request["daemons"]:
        start(daemon, root, Path(request["logs"]))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()


def bind(inside: Path, outside: str) -> None:
    """Show a directory of the test's machine inside, for sockets and files that both sides use."""
    inside.mkdir(parents=True, exist_ok=True)
    sandbox.command("mount", "--bind", outside, str(inside))


def make_directory(path: Path, uid: int) -> None:
    """Make a directory that belongs to a user of the image."""
    path.mkdir(parents=True, exist_ok=True)
    os.chown(path, uid, uid)


def start(daemon: dict[str, Any], root: Path, logs: Path) -> None:
    """Start a daemon in the root file system as its user, with a log of its own."""
    user = ["--userspec", f"{daemon['user']}:{daemon['user']}", "--groups="] if daemon["user"] != "root" else []
    with (logs / f"{daemon['name']}.log").open("wb") as log:
        subprocess.Popen(
            [*apart(daemon.get("mounts", {}), root), "chroot", *user, str(root), *daemon["command"]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **daemon["env"]},
        )


def apart(mounts: dict[str, str], root: Path) -> list[str]:
    """Begin a command that sees other directories of the machine in place of some, as in a pod of its own."""
    if not mounts:
        return []
    binds = "".join('mount --bind "$1" "$2" && shift 2 && ' for _ in mounts)
    paths = [str(root / path.lstrip("/")) for place, shown in mounts.items() for path in (shown, place)]
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{binds}exec "$@"', "apart", *paths]


if __name__ == "__main__":
    main()
