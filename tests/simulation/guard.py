"""A model of the guards of slurmctld's configuration: they install what kubelet mounts, and say so in their logs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator

from penstock.api.objects import Json
from penstock.cluster.resources import Whole
from penstock.render import labels
from penstock.render.reconfigure import CANDIDATE, fingerprint
from penstock.slurm import hostlist
from penstock.slurm.keyring import FILE

from .keys import Keys, ring_secrets
from .loop import now
from .sight import Sight
from .slurm import Slurm

_SYNC = 60.0
"""Seconds after which kubelet looks at a pod's volumes, unless the pod changes."""
_RING_SECONDS = 150.0
"""Seconds until all kubelets have shown a ring of keys."""


class Guard:
    """One guard: what it said, and news for those who listen."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.touched = asyncio.Event()
        self.spoke = asyncio.Event()
        self.ring = ""
        """Digest of the ring of keys that it was shown."""
        self.due: float | None = None
        """When everybody is told to read that."""

    def say(self, line: str) -> None:
        """Say a line, unless it was the last of its kind."""
        if line != next((one for one in reversed(self.lines) if one.split()[0] == line.split(maxsplit=1)[0]), ""):
            self.lines.append(line)
            self.spoke.set()


class Guards:
    """The guards of all slurmctlds; the store's source of logs."""

    def __init__(self, slurm: Slurm) -> None:
        self.sight: Sight | None = None
        self.keys: Keys | None = None
        self.read = ""
        """Digest of the ring that everybody has read; on slurmctld's volume."""
        self.refuses = ""
        """Not empty: Slurm refuses configurations with this text in slurm.conf."""
        self._slurm = slurm
        self._guards: dict[str, Guard] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def ready(self, pod: Whole) -> None:
        """A slurmctld has started, or has started anew."""
        if pod.metadata.labels.get(labels.NAME) == "slurmctld":
            self.gone(pod)
            name = pod.metadata.name
            self._guards[name] = guard = Guard()
            self._tasks[name] = asyncio.get_running_loop().create_task(self._watch(pod, guard))

    def changed(self, old: Whole | None, new: Whole | None) -> None:
        """Kubelet looks at the volumes of a pod whose metadata changed."""
        guard = self._guards.get(new.metadata.name) if new else None
        if guard and old and new and old.metadata.annotations != new.metadata.annotations:
            guard.touched.set()

    def gone(self, pod: Whole) -> None:
        """A slurmctld has ended."""
        if task := self._tasks.pop(pod.metadata.name, None):
            task.cancel()
            self._guards.pop(pod.metadata.name).spoke.set()

    def stop(self) -> None:
        """The world ends."""
        for task in self._tasks.values():
            task.cancel()

    async def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """What a guard said, and says."""
        del namespace, container
        guard = self._guards.get(name)
        heard = max(len(guard.lines) - tail, 0) if guard else 0
        while guard is not None and self._guards.get(name) is guard:
            guard.spoke.clear()
            for line in guard.lines[heard:]:
                heard += 1
                yield line
            await guard.spoke.wait()

    async def _watch(self, pod: Whole, guard: Guard) -> None:
        while True:
            guard.touched.clear()
            guard.say(self._judged(self._mounted(pod)))
            self._tend_ring(pod, guard)
            try:
                async with asyncio.timeout(_SYNC if guard.due is None else max(min(_SYNC, guard.due - now()), 0.1)):
                    await guard.touched.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(0.3)

    def _tend_ring(self, pod: Whole, guard: Guard) -> None:
        assert self.sight is not None
        assert self.keys is not None
        for secret in ring_secrets(pod.spec):
            digest = labels.key_digest(self.sight.secret(secret).get(FILE)) or ""
            if digest != guard.ring:
                guard.ring, guard.due = digest, None if digest == self.read else now() + _RING_SECONDS
                guard.say(f"keyring {digest} {'read' if guard.due is None else 'installed'}: simulated")
        if guard.due is not None and now() >= guard.due:
            self.keys.reconfigured()
            guard.due, self.read = None, guard.ring
            guard.say(f"keyring {guard.ring} read: simulated")

    def _judged(self, files: dict[str, str]) -> str:
        conf = files.get("slurm.conf", "")
        if self.refuses and self.refuses in conf:
            return f"configuration {fingerprint(files)} refused: simulated: {self.refuses}"
        self._slurm.configured(_partitions(conf), _nodes(conf))
        return f"configuration {fingerprint(files)} live: slurmctld runs it"

    def _mounted(self, pod: Whole) -> dict[str, str]:
        assert self.sight is not None
        volume = next(one for one in pod.spec["volumes"] if one["name"] == CANDIDATE)
        files: dict[str, str] = {}
        for source in volume["projected"]["sources"]:
            files |= _files(self.sight, source.get("configMap"))
        return files


def _partitions(conf: str) -> dict[str, str]:
    found = re.findall(r"(?m)^PartitionName=(\S+)(.*)$", conf)
    return {name: "DRAIN" if "State=DRAIN" in rest else "UP" for name, rest in found if name != "DEFAULT"}


def _nodes(conf: str) -> frozenset[str]:
    found = re.findall(r"(?m)^NodeName=(\S+)", conf)
    return frozenset(name for nodes in found for name in hostlist.expand(nodes))


def _files(sight: Sight, source: Json | None) -> dict[str, str]:
    found = sight.get("ConfigMap", source["name"]) if source else None
    if source is None or found is None:
        return {}
    if "items" in source:
        return {one["path"]: found.data[one["key"]] for one in source["items"] if one["key"] in found.data}
    return dict(found.data)
