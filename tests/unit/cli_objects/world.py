"""A cluster in this process, and a terminal in front of it: commands run as they are typed, to their end."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.api.objects import Json
from penstock.cli.objects.connecting import Connect
from penstock.cli.objects.kinds import Kinds
from penstock.cli.objects.session import Session
from penstock.cluster import catalogue
from penstock.cluster.errors import NotFound
from penstock.cluster.store import Store
from penstock.cluster.streams import WHOLE_LOG, LogOptions, Size, Wire

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)


def ago(**span: float) -> str:
    """A moment before now, as Kubernetes writes it."""
    return (NOW - timedelta(**span)).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Command:
    """A command that "runs" in a container: what it says and how it ends; what it was given is kept."""

    out: bytes = b""
    err: bytes = b""
    code: int = 0
    given: bytearray = field(default_factory=bytearray)
    sizes: list[Size] = field(default_factory=list)
    closed: asyncio.Event | None = None
    wants_input: bool = False

    @property
    async def stdout(self) -> AsyncIterator[bytes]:
        """What it writes."""
        if self.closed is not None:
            await self.closed.wait()
        yield self.out

    @property
    async def stderr(self) -> AsyncIterator[bytes]:
        """What it complains of."""
        yield self.err

    async def write(self, data: bytes) -> None:
        """Take input."""
        self.given += data

    async def close_stdin(self) -> None:
        """There is no more input."""
        if self.closed is not None:
            self.closed.set()

    async def resize(self, size: Size) -> None:
        """Take note of the size."""
        self.sizes.append(size)

    async def wait(self) -> int:
        """Its exit code."""
        if self.closed is not None:
            await self.closed.wait()
        return self.code

    async def close(self) -> None:
        """Nothing is open."""


class Cluster(Store):
    """A store whose pods have logs and run commands, as far as a test says."""

    def __init__(self) -> None:
        super().__init__(clock=lambda: NOW)
        self.said: dict[tuple[str, str], bytes] = {}
        self.asked: list[tuple[str, str, LogOptions]] = []
        self.commands: list[Command] = []
        self.executed: list[tuple[str, str, tuple[str, ...]]] = []

    async def read_log(
        self, name: str, *, namespace: str, container: str, options: LogOptions = WHOLE_LOG
    ) -> AsyncGenerator[bytes, None]:
        """What the test said that the container said."""
        del namespace
        self.asked.append((name, container, options))
        if (name, container) not in self.said:
            raise NotFound(f"logs of pods {name}: container {container} has none")
        for start in range(0, len(self.said[name, container]), 7):  # blocks that mind no lines
            yield self.said[name, container][start : start + 7]

    async def execute(
        self,
        name: str,
        *,
        namespace: str,
        container: str,
        command: Sequence[str],
        stdin: bool = False,
        tty: bool = False,
    ) -> Command:
        """The command that the test prepared."""
        del namespace, tty
        self.executed.append((name, container, tuple(command)))
        made = self.commands.pop(0)
        made.closed = asyncio.Event() if stdin and made.wants_input else None
        return made

    async def forward(self, name: str, *, namespace: str, port: int) -> Wire:
        """Nobody listens."""
        raise NotFound(f"port {port} of pods {namespace}/{name}")


@dataclass(frozen=True)
class Said:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@dataclass
class World:
    """The cluster and the terminal."""

    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    directory: Path
    cluster: Cluster = field(default_factory=Cluster)

    @property
    def connect(self) -> Connect:
        """How commands reach the cluster."""

        @asynccontextmanager
        async def connect(arguments: Any) -> AsyncIterator[Session]:
            yield Session(
                cluster=cast(Any, self.cluster),
                namespace=arguments.namespace or "slurm",
                said_namespace=bool(arguments.namespace),
                title="the cluster of this test",
                kinds=Kinds(),
                now=lambda: NOW,
            )

        return connect

    def run(self, *words: str, stdin: str = "") -> Said:
        """Type `penstock` with these words."""
        module = import_module(f"penstock.cli.{words[0].replace('-', '_')}")
        self.monkeypatch.chdir(self.directory)
        self.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        self.capsys.readouterr()
        try:
            code = module.run(words[1:], connect=self.connect)
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = self.capsys.readouterr()
        return Said(code, out, err)

    def says(self, *words: str, stdin: str = "") -> str:
        """Type `penstock` with these words; it must succeed without a complaint."""
        said = self.run(*words, stdin=stdin)
        assert (said.code, said.err) == (0, ""), said
        return said.out

    def put(self, *things: Json) -> None:
        """Have these objects, each with its status."""
        asyncio.run(self._put(things))

    async def _put(self, things: Sequence[Json]) -> None:
        for thing in things:
            entry = catalogue.BY_KIND[thing["apiVersion"], thing["kind"]]
            resource = entry.reading(cast(Any, dict))
            await self.cluster.create(resource, {key: part for key, part in thing.items() if key != "status"})
            if "status" in thing and entry.has_status:
                body = {"metadata": {key: thing["metadata"][key] for key in ("name", "namespace")}} | {
                    "status": thing["status"]
                }
                await self.cluster.apply_status(resource, body)

    def have(self, word: str, name: str, namespace: str = "slurm") -> Json:
        """An object as the cluster has it."""
        entry = catalogue.find(word)
        found = self.cluster.get(entry.reading(cast(Any, dict)), name, namespace if entry.namespaced else "")
        return cast(Json, asyncio.run(cast(Any, found)))

    def names(self, word: str) -> list[str]:
        """The names of all objects of a kind."""
        resource = catalogue.find(word).reading(cast(Any, dict))
        listing = asyncio.run(self.cluster.list(resource))
        return [cast(Json, item)["metadata"]["name"] for item in listing.items]


def thing(api_version: str, kind: str, name: str, **fields: Any) -> Json:
    """An object in namespace slurm; `labels` go to its metadata."""
    metadata: Json = {"name": name, "namespace": "slurm"}
    for key in ("labels", "annotations", "finalizers", "ownerReferences"):
        if key in fields:
            metadata[key] = fields.pop(key)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def node_set(name: str = "compute", replicas: int = 2, **fields: Any) -> Json:
    """A NodeSet."""
    spec = {"controllerRef": {"name": "slurm"}, "replicas": replicas, "slurmd": {"image": "slurm:26.05"}}
    return thing("slinky.slurm.net/v1beta1", "NodeSet", name, spec=spec, **fields)


def pod(name: str = "worker-0", *containers: str, **fields: Any) -> Json:
    """A pod."""
    spec = {"containers": [{"name": one, "image": f"{one}:1"} for one in containers or ("slurmd",)]}
    return thing("v1", "Pod", name, spec=spec | fields.pop("spec", {}), **fields)


def config_map(name: str = "settings", **data: str) -> Json:
    """A ConfigMap."""
    return thing("v1", "ConfigMap", name, data=data)
