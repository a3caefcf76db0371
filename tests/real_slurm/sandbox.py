"""A machine of its own for one look at a configuration: runs as pid 1 of fresh namespaces, and they end with it.

Reads one request (JSON) from stdin and writes what each run said to stdout. Knows nothing of Slurm but its user:
`slurm_parser.py` decides what is run and what an answer means. Standard library only, so that it starts fast.
"""

import base64
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path
from typing import Any

OWN_ADDRESS = "10.255.0.1"  # with 127.0.0.1 alone getaddrinfo(AI_ADDRCONFIG) finds nothing, and Slurm hangs
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
LINKS = {"fd": "/proc/self/fd", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}


def main() -> None:
    """Furnish the machine, run what is asked one after another, tell."""
    request = json.load(sys.stdin)
    root = mount(request["root"], Path(request["workplace"]))
    furnish_devices(root, request["devices"])
    connect(root, request["hostname"])
    uid = number_of("slurm", root)
    for path in request["directories"]:
        (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        os.chown(root / path.lstrip("/"), uid, uid)
    json.dump([play(run, root, uid) for run in request["runs"]], sys.stdout)


def mount(rootfs: str, workplace: Path) -> Path:
    """Lay a throw-away layer over the root file system."""
    command("mount", "-t", "tmpfs", "sandbox", str(workplace))
    upper, work, root = (workplace / name for name in ("upper", "work", "root"))
    for directory in (upper, work, root):
        directory.mkdir()
    layers = f"lowerdir={rootfs},upperdir={upper},workdir={work}"
    command("mount", "-t", "overlay", "sandbox", "-o", layers, str(root))
    for kind, place in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "dev")):
        command("mount", "-t", kind, "sandbox", str(root / place))
    return root


def furnish_devices(root: Path, more: list[str]) -> None:
    """Make the usual devices, and stand-ins for devices that a configuration names."""
    for name, numbers in {**DEVICES, **dict.fromkeys(more, DEVICES["null"])}.items():
        device = root / "dev" / name.removeprefix("/dev/")
        device.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(device, 0o020666, os.makedev(*numbers))
        device.chmod(0o666)
    for name, target in LINKS.items():
        (root / "dev" / name).symlink_to(target)


def connect(root: Path, hostname: str) -> None:
    """Give the machine its name, an address, and a name server for whom every name exists and nobody is at home.

    Without an answer Slurm waits 10 s for each node, controller or database host that it looks up.
    """
    command("ip", "link", "set", "lo", "up")
    command("ip", "address", "add", f"{OWN_ADDRESS}/32", "dev", "lo")
    socket.sethostname(hostname)
    with (root / "etc/hosts").open("a") as hosts:
        hosts.write(f"{OWN_ADDRESS} {hostname}\n")
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n")
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    threading.Thread(target=serve_names, args=(server,), daemon=True).start()


def serve_names(server: socket.socket) -> None:
    """Answer name queries until the machine ends."""
    while True:
        query, client = server.recvfrom(4096)
        server.sendto(answer(query), client)


def answer(query: bytes) -> bytes:
    """Answer an A query with an address made of the name (no route leads there), any other query with nothing."""
    question = query[12 : query.index(b"\0", 12) + 5]
    is_a = question[-4:] == b"\0\1\0\1"
    header = query[:2] + b"\x81\x80" + struct.pack(">4H", 1, int(is_a), 0, 0)
    address = struct.pack(">BBH", 10, 254, zlib.crc32(question) & 0xFFFF)
    return header + question + (b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + address if is_a else b"")


def number_of(user: str, root: Path) -> int:
    """Look a user of the root file system up."""
    lines = (line.split(":") for line in (root / "etc/passwd").read_text().splitlines())
    return next(int(number) for name, _, number, *_ in lines if name == user)


def play(run: dict[str, Any], root: Path, uid: int) -> dict[str, Any]:
    """Write the files of a run, start its command, and stop it once it says a line that is waited for."""
    for path, file in run["files"].items():
        place(root / path.lstrip("/"), base64.b64decode(file["content"]), uid if file["own"] else 0, file["mode"])
    reading, writing = os.pipe()
    os.fchown(writing, uid, -1)  # or the user could not open its own /dev/stdout, where some configurations log
    user = ["--userspec=slurm:slurm", "--groups="] if run["as_slurm"] else []
    daemon = subprocess.Popen(
        ["chroot", *user, str(root), *run["command"]], stdin=subprocess.DEVNULL, stdout=writing, stderr=writing
    )
    os.close(writing)
    bound = threading.Timer(run["seconds"], daemon.kill)
    bound.start()
    lines, ready = listen(reading, daemon, run)
    bound.cancel()
    return {"lines": lines, "ready": ready, "code": daemon.wait()}


def listen(reading: int, daemon: "subprocess.Popen[bytes]", run: dict[str, Any]) -> tuple[list[str], bool]:
    """Gather all lines to the end; on the awaited one, or on one that promises only more waiting, end the daemon."""
    lines, ready = [], False
    with os.fdopen(reading, errors="backslashreplace") as output:
        for line in output:
            lines.append(line.rstrip("\n"))
            if not ready and re.search(run["until"], line):
                ready = True
                if run["stop"]:
                    daemon.send_signal(signal.Signals[run["stop"]])
            elif re.search(run["hopeless"], line):
                daemon.kill()
    return lines, ready


def place(path: Path, content: bytes, uid: int, mode: int) -> None:
    """Write a file with its owner and mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.chown(path, uid, uid)
    path.chmod(mode)


def command(*words: str) -> None:
    """Run a command of the machine that must succeed."""
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


if __name__ == "__main__":
    main()
