"""Real containers for tests: on the machine's own /usr, with nothing to build, and nothing left behind."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from penstock.api.objects import Json
from penstock.engine import cgroups, mounts, oci, processes
from penstock.engine.host import Machine, this_machine
from penstock.engine.oci import Mount, Place
from penstock.engine.podspec import Pod
from penstock.engine.runtime import Running, Runtime
from penstock.engine.users import Accounts


@dataclass(frozen=True)
class Image:
    """What the image of a test says of itself."""

    env: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    working_dir: str = ""


@dataclass
class Lab:
    """A directory with a runtime; each container has its own part of it."""

    directory: Path
    name: str = field(default_factory=lambda: f"penstock-test-{uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.runtime = Runtime(root=self.directory / "runc")

    @property
    def group(self) -> str:
        """The control group above those of all containers."""
        return f"/{self.name}"

    def bundle(self, container_id: str) -> Path:
        """Where a container is."""
        return self.directory / "bundles" / container_id

    def log(self, container_id: str) -> Path:
        """What it said."""
        return self.bundle(container_id) / "log"

    async def create(self, container_id: str, *words: str, log_limit: int = 10_000_000, **said: Any) -> Running:
        """Make a container that runs these words; `container` and `spec` have fields of its pod."""
        config = self.config(container_id, *words, **said)
        bundle = self.bundle(container_id)
        return await self.runtime.create(container_id, bundle, config, log=self.log(container_id), log_limit=log_limit)

    async def run(self, container_id: str, *words: str, **said: Any) -> Running:
        """Make and start one."""
        return await self.runtime.start(await self.create(container_id, *words, **said))

    async def delete(self, container_id: str) -> None:
        """Remove it."""
        await self.runtime.delete(container_id, self.bundle(container_id))

    def config(
        self,
        container_id: str,
        *words: str,
        container: Mapping[str, Any] | None = None,
        spec: Mapping[str, Any] | None = None,
    ) -> Json:
        """What runc reads."""
        body = {"name": "c", "command": list(words), **(container or {})}
        metadata = {"name": container_id, "namespace": "n", "uid": container_id}
        pod = msgspec.convert({"metadata": metadata, "spec": {"containers": [body], **(spec or {})}}, Pod)
        rootfs = root_in(self.directory / "roots" / container_id)
        return oci.config(
            pod.spec.containers[0], pod, Image(),
            accounts=Accounts.of(rootfs), env={},
            mounts=[Mount(source=Path("/usr"), destination="/usr", read_only=True)],
            place=Place(rootfs=rootfs, cgroup=f"{self.group}/{container_id}", network=None), machine=machine(),
        )  # fmt: skip

    def left_behind(self) -> list[str]:
        """Whatever should not be there any more: processes, mounts, what runc knows, control groups."""
        here = str(self.directory)
        words = [" ".join(processes.command_line(one)) for one in _everybody()]
        groups = [path for top in cgroups.here().paths(self.group) for path in top.glob("*/")]
        known = (self.directory / "runc").glob("*")
        return [
            *(line for line in words if here in line),
            *(str(one.target) for one in mounts.mounted_below(self.directory)),
            *(str(path) for path in (*known, *groups)),
        ]


@asynccontextmanager
async def lab(directory: Path) -> AsyncIterator[Lab]:
    """A lab that removes all its containers at the end and sees that nothing is left."""
    it = Lab(directory)
    try:
        yield it
    finally:
        bundles = [path.name for path in (directory / "bundles").glob("*")]
        await asyncio.gather(*(it.delete(name) for name in bundles))
        left = it.left_behind()
        cgroups.remove(cgroups.here().paths(it.group))
        shutil.rmtree(directory / "roots", ignore_errors=True)
    assert left == []


def root_in(directory: Path) -> Path:
    """A root file system: directories, and links into /usr, which a container mounts."""
    for name in ("proc", "sys", "dev", "usr", "tmp", "etc"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"usr/{name}")
    (directory / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nwork:x:1000:1001::/:/bin/sh\n")
    (directory / "etc/group").write_text("root:x:0:\nwork:x:1001:\nvideo:x:44:work\n")
    return directory


async def until(condition: Callable[[], object], *, within: float = 10.0) -> None:
    """Wait for something that has no event of its own."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)


@cache
def machine() -> Machine:
    """What this machine has, looked up once."""
    return this_machine()


def _everybody() -> list[processes.Identity]:
    pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return [one for pid in pids if (one := processes.identify(pid))]
