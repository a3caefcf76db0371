"""A machine that serves its API on a socket, in a thread of the test; `penstock` runs as a process of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

from penstock.api.objects import Json
from penstock.cluster import catalogue
from penstock.cluster.store import Store
from penstock.machine.api import serve
from tests.machine_api.played import Played

T = TypeVar("T")
_PATIENCE = 60.0
"""Seconds for whatever a test waits for; a machine that is busy takes its time."""


@dataclass(frozen=True)
class Said:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Machine:
    """A cluster called main, and a terminal with files."""

    directory: Path
    store: Store
    containers: Played
    loop: asyncio.AbstractEventLoop

    @property
    def environment(self) -> dict[str, str]:
        """Of commands: they find this machine and no other."""
        bin_ = Path(sys.executable).parent
        return {
            "PENSTOCK_RUN": str(self.directory),
            "HOME": str(self.directory),
            "PATH": f"{bin_}:{os.environ['PATH']}",
        }

    def run(self, *words: str, stdin: str = "") -> Said:
        """Run `penstock` to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "penstock", *words],
            input=stdin, env=self.environment, cwd=self.directory, capture_output=True, text=True, check=False,
            timeout=_PATIENCE,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    def says(self, *words: str, stdin: str = "") -> str:
        """Run `penstock`; it must succeed."""
        said = self.run(*words, stdin=stdin)
        assert said.code == 0, said
        return said.out

    @contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Run `penstock` beside the test; it ends with it."""
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment, cwd=self.directory, text=True,
        )  # fmt: skip
        with process:
            try:
                yield process
            finally:
                process.kill()

    def there(self, question: Callable[[], Awaitable[T]]) -> T:
        """Ask something in the loop of the machine."""
        answer: Future[T] = asyncio.run_coroutine_threadsafe(cast(Any, question()), self.loop)
        return answer.result(_PATIENCE)

    def put(self, *things: Json) -> None:
        """Have these objects."""
        for thing in things:
            resource = catalogue.BY_KIND[thing["apiVersion"], thing["kind"]].reading(cast(Any, dict))
            self.there(lambda resource=resource, thing=thing: self.store.create(resource, thing))  # type: ignore[misc]

    def have(self, word: str, name: str) -> Json:
        """An object as the machine has it."""
        resource = catalogue.find(word).reading(cast(Any, dict))
        return cast(Json, self.there(lambda: self.store.get(resource, name, "slurm")))


@contextmanager
def machine() -> Iterator[Machine]:
    """A machine with the namespace slurm and a pod that runs, `slurm/pod`."""
    with TemporaryDirectory(prefix="penstock-") as directory:
        ready = Waiting()
        thread = threading.Thread(target=lambda: asyncio.run(_serve(Path(directory), ready)), daemon=True)
        thread.start()
        given = ready.result()
        try:
            given.put(*_BEGINNING)
            yield given
        finally:
            given.loop.call_soon_threadsafe(ready.over.set)
            thread.join(_PATIENCE)


class Waiting:
    """What a thread tells the one that began it."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._machine: Machine | None = None
        self.over: asyncio.Event

    def tell(self, given: Machine, over: asyncio.Event) -> None:
        """The machine is up."""
        self._machine, self.over = given, over
        self._told.set()

    def result(self) -> Machine:
        """Wait until it is."""
        assert self._told.wait(_PATIENCE)
        assert self._machine is not None
        return self._machine


async def _serve(directory: Path, ready: Waiting) -> None:
    (directory / "main").mkdir()
    over, containers = asyncio.Event(), Played()
    async with Store() as store, serve(store, containers, path=directory / "main/api.sock"):
        ready.tell(Machine(directory, store, containers, asyncio.get_running_loop()), over)
        await over.wait()


_BEGINNING: list[Json] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "slurm"}},
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "slurm", "labels": {"app": "x"}},
        "spec": {"nodeName": "here", "containers": [{"name": "main", "image": "x"}, {"name": "side", "image": "x"}]},
    },
]
