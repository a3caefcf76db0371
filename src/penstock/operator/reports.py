"""What the guards of slurmctld's configuration say: their logs, followed while we lead.

A guard (`render/reconfigure.py`) has no other way to speak, and needs none: a log is there in every cluster, asks for
no rights in the pod, and what was said before we listened is still in it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import aclosing

from penstock.cluster.backoff import Backoff
from penstock.cluster.errors import ClusterError
from penstock.cluster.groups import TaskGroup
from penstock.cluster.port import Cluster
from penstock.operator.caches import Caches
from penstock.operator.resources import Pod
from penstock.operator.triggers import Look
from penstock.render import labels
from penstock.render.reconfigure import NAME, KeyringReport, Report, read_keyring_report, read_report

_LOG = logging.getLogger(__name__)
_TAIL = 50
"""Lines: a guard says one or two per edit."""


class Reports:
    """The last word of every guard. Somebody has to `run` it."""

    def __init__(self, cluster: Cluster, caches: Caches, look: Look) -> None:
        self._cluster = cluster
        self._look = look
        self._said: dict[str, Report] = {}
        """By the pod's uid."""
        self._keyrings: dict[str, KeyringReport] = {}
        self._caches = caches
        self._changed = asyncio.Event()
        self._backoff = Backoff(first=0.5, longest=60.0)
        caches.pods.subscribe(self._notice)

    def of(self, pod: Pod) -> Report | None:
        """What the guard of a pod said last."""
        return self._said.get(pod.metadata.uid)

    def keyring(self, pod: Pod) -> KeyringReport | None:
        """What the guard of a pod said last about its ring of keys."""
        return self._keyrings.get(pod.metadata.uid)

    async def run(self) -> None:
        """Follow every guard until cancelled."""
        following: dict[str, asyncio.Task[None]] = {}
        async with TaskGroup() as group:
            while True:
                self._changed.clear()
                there = {pod.metadata.uid: pod for pod in self._guarded()}
                for uid in following.keys() - there.keys():
                    following.pop(uid).cancel()
                    self._said.pop(uid, None)
                    self._keyrings.pop(uid, None)
                for uid in there.keys() - following.keys():
                    following[uid] = group.create_task(self._follow(there[uid]))
                await self._changed.wait()

    def _notice(self, old: Pod | None, new: Pod | None) -> None:
        if (old is None or new is None) and (new or old) is not None and _is_guarded(new or old):
            self._changed.set()

    def _guarded(self) -> Iterator[Pod]:
        return (pod for pod in self._caches.pods.all() if _is_guarded(pod))

    async def _follow(self, pod: Pod) -> None:
        """Read a guard's log to its end, again and again: containers start anew, and links break."""
        meta, failures = pod.metadata, 0
        while True:
            lines = self._cluster.logs(meta.name, namespace=meta.namespace, container=NAME, tail=_TAIL)
            try:
                async with aclosing(lines):
                    async for line in lines:
                        failures = 0
                        self._hear(pod, line)
            except ClusterError as error:
                _LOG.debug("log of %s/%s: %s", meta.namespace, meta.name, error)
            failures += 1
            await asyncio.sleep(self._backoff.delay(failures))

    def _hear(self, pod: Pod, line: str) -> None:
        uid, report, keyring = pod.metadata.uid, read_report(line), read_keyring_report(line)
        news = (report and self._said.get(uid) != report) or (keyring and self._keyrings.get(uid) != keyring)
        if report is not None:
            self._said[uid] = report
        if keyring is not None:
            self._keyrings[uid] = keyring
        if news:
            self._look(("Controller", pod.metadata.namespace, pod.metadata.labels[labels.INSTANCE]), 0)


def _is_guarded(pod: Pod | None) -> bool:
    return (
        pod is not None
        and pod.metadata.labels.get(labels.NAME) == "slurmctld"
        and labels.INSTANCE in pod.metadata.labels
    )
