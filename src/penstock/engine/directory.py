"""Who is called how on this machine: the hosts file of every pod, kept current.

A pod has its names before its containers start. Changes come in flocks, when a cluster starts above all: pods that know
names already hear of a flock once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

from penstock.cluster.informer import Informer
from penstock.engine.names import Names, write_hosts
from penstock.engine.pod import PodTask
from penstock.engine.services import Service

_FLOCK = 0.1
"""Seconds in which changes are one."""


class Directory:
    """The names of all pods. `run` it, and tell it when something has `moved`."""

    def __init__(self, tasks: Mapping[str, PodTask], services: Informer[Service], told: Callable[[], None]) -> None:
        """Tasks by uid, as they come and go; `told` is called whenever all pods know all names."""
        self._tasks = tasks
        self._services = services
        self._told = told
        self._moved = asyncio.Event()
        self._known: dict[str, str] = {}
        """The text that each pod has, by uid."""

    def moved(self) -> None:
        """A pod has come or gone, has another address or another readiness, or a Service has changed."""
        self._write([task for task in self._furnished() if task.pod.metadata.uid not in self._known])
        self._moved.set()

    async def run(self) -> None:
        """Tell pods of each other until cancelled."""
        while True:
            await self._moved.wait()
            await asyncio.sleep(_FLOCK)
            self._moved.clear()
            self._known = {uid: text for uid, text in self._known.items() if uid in self._tasks}
            self._write(self._furnished())
            self._told()

    def resolve(self, host: str) -> str:
        """The address behind a name; OSError when there is none."""
        for line in self._names().hosts("").splitlines():
            address, *known = line.split()
            if host in known:
                return address
        raise OSError(f"{host}: nobody is called so, or nobody of that name is ready")

    def _furnished(self) -> list[PodTask]:
        """Those that have an address and a place for their names: who goes has given up the one before the other."""
        return [task for task in self._tasks.values() if task.address and task.sandbox.names.is_dir()]

    def _write(self, tasks: Collection[PodTask]) -> None:
        if not tasks:
            return
        names = self._names()
        for task in tasks:
            uid, text = task.pod.metadata.uid, names.hosts_of(task.pod)
            if self._known.get(uid) != text:
                write_hosts(task.sandbox.names, text)
                self._known[uid] = text

    def _names(self) -> Names:
        tasks = [task for task in self._tasks.values() if task.address]
        addresses = {task.pod.key: task.address for task in tasks}
        return Names([task.pod for task in tasks], self._services.all(), addresses=addresses)
