"""A cluster of its own on this machine, brought up and taken down by the commands that people use."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from penstock.engine.layout import Layout
from penstock.machine import process
from rootfs import images_directory

LEDGER = "/ledger"
"""Where workers see the directory that we read from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A cluster with a directory of the machine in every worker."""

    place: Path
    cluster: str

    @property
    def layout(self) -> Layout:
        """Where its things are."""
        return Layout(
            cluster=self.cluster,
            state=self.place / "state" / "clusters" / self.cluster,
            run=self.place / "run" / self.cluster,
        )

    @property
    def ledger(self) -> Path:
        """What jobs write into."""
        return self.place / "ledger" / "lines"

    def penstock(self, *words: str, seconds: float = 180.0) -> str:
        """Run a command to its end; what it said."""
        done = subprocess.run(
            [sys.executable, "-m", "penstock", *words],
            env=self.environment(), capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"penstock {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def environment(self) -> dict[str, str]:
        """With which our own commands find this cluster and no other."""
        return os.environ | {
            "PENSTOCK_STATE": str(self.place / "state"),
            "PENSTOCK_RUN": str(self.place / "run"),
            "PENSTOCK_IMAGES": str(images_directory()),
            "PENSTOCK_CLUSTER": self.cluster,
        }

    def look_after(self) -> None:
        """Start a supervisor, as `penstock up --detach` and systemd do."""
        ports = json.loads((self.layout.state / "ports.json").read_bytes())
        words = ["--cluster", self.cluster, "--ssh-port", str(ports["ssh"]), "--rest-port", str(ports["rest"])]
        with process.log_path(self.layout).open("ab") as log:
            subprocess.Popen(
                # setsid forks, so that it is not our child: we do not bury it.
                ["/usr/bin/setsid", "--fork", sys.executable, "-m", "penstock", "supervise", *words],
                env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
            ).wait()  # fmt: skip


@contextmanager
def room(*, workers: int = 2) -> Iterator[Room]:
    """A cluster that is up; it ends with the block, however that ends."""
    with tempfile.TemporaryDirectory(prefix="pc-") as name:
        it = Room(place=Path(name), cluster=f"chaos-{os.getpid()}")
        it.place.chmod(0o755)
        it.ledger.parent.mkdir(mode=0o777)
        objects = list(yaml.safe_load_all(it.penstock("up", "--show", "--workers", str(workers))))
        for body in objects:
            if body["kind"] == "NodeSet":
                _with_ledger(body["spec"], it.ledger.parent)
        (it.place / "cluster.yaml").write_text(yaml.safe_dump_all(objects))
        try:
            it.penstock("up", "--detach", "--file", str(it.place / "cluster.yaml"), *_free_ports())
            yield it
        except BaseException:
            print("the last of its log:", *process.log_path(it.layout).read_text().splitlines()[-80:], sep="\n")
            raise
        finally:
            it.penstock("down", "--purge", "--yes")


def _free_ports() -> list[str]:
    """Words for ports that nobody has: other clusters of this machine have the usual ones."""
    with socket.create_server(("127.0.0.1", 0)) as ssh, socket.create_server(("127.0.0.1", 0)) as rest:
        return ["--ssh-port", str(ssh.getsockname()[1]), "--rest-port", str(rest.getsockname()[1])]


def _with_ledger(spec: dict[str, dict[str, object]], directory: Path) -> None:
    template = spec["template"]["spec"]
    assert isinstance(template, dict)
    template["volumes"] = [{"name": "ledger", "hostPath": {"path": str(directory), "type": "Directory"}}]
    spec["slurmd"]["volumeMounts"] = [{"name": "ledger", "mountPath": LEDGER}]
