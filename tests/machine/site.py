"""A cluster on this machine as a person has it: the command `penstock`, its socket, its directories, its processes.

Commands run as processes of their own, with directories of their own, so they meet no other cluster. What a test only
needs to know, not to show, is asked over the socket: it is the same API, without half a second per question.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar, cast
from uuid import uuid4

import msgspec
import yaml

from penstock.api.objects import Json
from penstock.cluster import catalogue
from penstock.cluster.errors import ClusterError, NotFound
from penstock.cluster.kube import Connection, KubeCluster, local
from penstock.cluster.port import EventType, Selection
from penstock.cluster.resources import Resource, Whole
from penstock.engine.layout import Layout
from penstock.machine.inside import run_in_login

T = TypeVar("T")
NAMESPACE = "slurm"
WORKERS = "slurm-worker-compute"
"""The NodeSet of the default cluster."""
IMAGES = Path(os.environ.get("PENSTOCK_IMAGES") or Path.home() / ".cache/penstock/images")
"""Shared by all tests of this machine: building takes minutes."""
_PATIENCE = 60.0
"""Seconds for whatever a test waits for; a machine that is busy takes its time."""
_BUILD = 1200.0
"""Seconds for a command that may have to build images first."""


@dataclass(frozen=True)
class Said:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str = ""


class Site:
    """A place for clusters, and one of them."""

    def __init__(self, directory: Path, *, name: str, suite: str) -> None:
        self.directory = directory
        self.name = name
        self.suite = suite
        self._ports = _free_ports()
        self.manifest: Path | None = None
        """Of what it is made, if not of the default."""
        self.failed_before = 0
        """Tests that had failed when it was last known to be well."""
        self.layout = Layout(cluster=name, state=directory / "state/clusters" / name, run=directory / "run" / name)

    @property
    def environment(self) -> dict[str, str]:
        """Of commands: they find this cluster and no other."""
        return {
            "PENSTOCK_STATE": str(self.directory / "state"),
            "PENSTOCK_RUN": str(self.directory / "run"),
            "PENSTOCK_IMAGES": str(IMAGES),
            "PENSTOCK_CLUSTER": self.name,
            "HOME": str(self.directory / "home"),
            "PATH": os.environ["PATH"],
        }

    @property
    def connection(self) -> Connection:
        """The way to its API."""
        return local(self.layout.socket)

    def beside(self, name: str) -> Site:
        """Another cluster in the same place."""
        return Site(self.directory, name=name, suite=self.suite)

    # What a person types

    def run(self, *words: str, stdin: str = "", patience: float = _PATIENCE, program: tuple[str, ...] = ()) -> Said:
        """Run `penstock` to its end."""
        done = subprocess.run(
            [*program, *_PENSTOCK, *words], input=stdin, env=self.environment, cwd=self.directory,
            capture_output=True, text=True, check=False, timeout=patience,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    def says(self, *words: str, stdin: str = "", patience: float = _PATIENCE) -> str:
        """Run `penstock`; it must succeed."""
        said = self.run(*words, stdin=stdin, patience=patience)
        assert said.code == 0, f"penstock {' '.join(words)}: {said.code}\n{said.out}{said.err}{self.trouble()}"
        return said.out

    @contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Run `penstock` beside the test; it ends with it, or when it takes too long."""
        process = subprocess.Popen(
            [*_PENSTOCK, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=self.environment, cwd=self.directory, text=True,
        )  # fmt: skip
        # Who waits for a line that never comes finds the end instead.
        end = threading.Timer(_PATIENCE, process.kill)
        end.start()
        with process:
            try:
                yield process
            finally:
                end.cancel()
                process.kill()

    def up(self, *words: str) -> str:
        """Bring it up, or bring it up again; what it prints. Somebody else on this machine may have the usual ports."""
        ssh, rest = self._ports
        ports = ["--ssh-port", str(ssh), "--rest-port", str(rest)]
        return self.says("up", "--detach", "--suite", self.suite, *ports, *words, patience=_BUILD)

    def down(self) -> None:
        """Take it down with all its data."""
        self.says("down", "--purge", "--yes")

    def apply(self, *objects: Json) -> None:
        """Have these objects."""
        self.says("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def slurm(self, *words: str) -> str:
        """Run a Slurm command on the login node; it must succeed."""
        said = self.asked(lambda cluster: run_in_login(cluster, words, namespace=NAMESPACE))
        assert said[0] == 0, f"{' '.join(words)}: {said[1]}"
        return said[1]

    # What a test wants to know

    def asked(self, question: Callable[[KubeCluster], Awaitable[T]]) -> T:
        """Ask the cluster something over its socket."""

        async def ask() -> T:
            async with asyncio.timeout(_PATIENCE), KubeCluster(self.connection) as cluster:
                return await question(cluster)

        return asyncio.run(ask())

    def get(self, kind: str, name: str) -> Json:
        """An object as the cluster has it."""
        return self.asked(lambda cluster: cluster.get(_resource(kind), name, NAMESPACE))

    def all(self, kind: str, labels: str = "") -> list[Json]:
        """All objects of a kind."""
        here = Selection(namespace=NAMESPACE, labels=labels)
        return self.asked(lambda cluster: cluster.list(_resource(kind), here)).items

    def until(self, kind: str, name: str, holds: Callable[[Json], object], *, patience: float = _PATIENCE) -> Json:
        """Wait until something is so of an object; nothing at all is `{}`. It outlasts an API that is away."""
        return asyncio.run(self._until(catalogue.find(kind).reading(Whole), name, holds, patience))

    def execute(self, pod: str, *words: str, container: str = "") -> Said:
        """Run a command in a container; what it says, both outputs apart."""

        async def run(cluster: KubeCluster) -> Said:
            name = container or (await cluster.get(_resource("pods"), pod, NAMESPACE))["spec"]["containers"][0]["name"]
            session = await cluster.execute(pod, namespace=NAMESPACE, container=name, command=words)
            try:
                out, err, code = await asyncio.gather(_all(session.stdout), _all(session.stderr), session.wait())
            finally:
                await session.close()
            return Said(code, out, err)

        return self.asked(run)

    def inside(self, pod: str, *words: str, container: str = "") -> str:
        """Run a command in a container; it must succeed."""
        said = self.execute(pod, *words, container=container)
        assert said.code == 0, f"{pod}: {' '.join(words)}: {said}"
        return said.out

    def port(self, what: str) -> int:
        """The port of loopback that leads to `ssh` or `rest`."""
        return int(msgspec.json.decode((self.layout.state / "ports.json").read_bytes())[what])

    def trouble(self) -> str:
        """The end of the log, for whoever reads of a failure."""
        log = self.layout.state / "penstock.log"
        return f"\n-- {log}\n{log.read_text()[-6000:]}" if log.exists() else ""

    def mistakes(self) -> str:
        """What the log has of errors that nobody reckoned with."""
        before, found, after = (self.layout.state / "penstock.log").read_text().partition("Traceback")
        return before[-500:] + found + after[:6000] if found else ""

    async def _until(
        self, resource: Resource[Whole], name: str, holds: Callable[[Json], object], patience: float
    ) -> Json:
        seen: Json = {}
        try:
            async with asyncio.timeout(patience):
                while True:
                    try:
                        async with KubeCluster(self.connection) as cluster:
                            async for seen in _states(cluster, resource, name):
                                if holds(seen):
                                    return seen
                    except ClusterError:
                        await asyncio.sleep(0.05)  # it is being started again
        except TimeoutError:
            raise AssertionError(f"{resource.kind} {name} did not come so far: {seen}{self.trouble()}") from None


@contextmanager
def site(suite: str) -> Iterator[Site]:
    """A place with directories of its own; their names are short, for sockets have long ones."""
    directory = Path(mkdtemp(prefix="pm", dir="/tmp"))
    (directory / "home").mkdir()
    try:
        yield Site(directory, name=f"{suite}-{uuid4().hex[:4]}", suite=suite)
    finally:
        shutil.rmtree(directory)


def eventually(question: Callable[[], T], holds: Callable[[T], object]) -> T:
    """Ask until it is so, for what has no event of its own: Slurm tells nobody when something happens."""
    deadline = time.monotonic() + _PATIENCE
    while not holds(answer := question()):
        assert time.monotonic() < deadline, f"it stayed so: {answer}"
        time.sleep(0.05)
    return answer


def condition(body: Json, kind: str) -> Json:
    """A condition of an object; nothing when it has none such."""
    found = (body.get("status") or {}).get("conditions") or ()
    return next((cast(Json, one) for one in found if one["type"] == kind), {})


def is_ready(body: Json) -> bool:
    """Whether an object says that it is ready, as it is now."""
    ready = condition(body, "Ready")
    # Pods do not say how new they are seen.
    seen = "observedGeneration" not in ready or ready["observedGeneration"] >= body["metadata"]["generation"]
    return ready.get("status") == "True" and bool(seen)


async def _states(cluster: KubeCluster, resource: Resource[Whole], name: str) -> AsyncIterator[Json]:
    """An object as it is now, and after each change."""
    where = Selection(namespace=NAMESPACE, fields=f"metadata.name={name}")
    listing = await cluster.list(resource, where)
    yield msgspec.to_builtins(listing.items[0]) if listing.items else {}
    async for event in cluster.watch(resource, where, since=listing.resource_version):
        if event.type is EventType.DELETED:
            yield {}
        elif event.object is not None:
            yield msgspec.to_builtins(event.object)


def _free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


async def _all(blocks: AsyncIterator[bytes]) -> str:
    return b"".join([block async for block in blocks]).decode()


def _resource(kind: str) -> Resource[Any]:
    return catalogue.find(kind).reading(cast(Any, dict))


_PENSTOCK = (sys.executable, "-m", "penstock")

__all__ = ["NAMESPACE", "WORKERS", "NotFound", "Said", "Site", "condition", "eventually", "is_ready", "site"]
