"""Events: the story of an object, as `kubectl describe` tells it. Telling it never holds up the work itself."""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from penstock.api.objects import Json
from penstock.cluster.errors import ClusterError
from penstock.cluster.port import MANAGER, Cluster
from penstock.cluster.resources import Lean, Resource

_LOG = logging.getLogger(__name__)
_REPEAT = 600.0
"""Seconds before the same words about the same object are worth telling again."""
_LONGEST_NOTE = 1024
"""Bytes the API server takes."""
_BACKLOG = 1000
"""Events that may wait; beyond it the newest are dropped, for the cluster has other worries."""


EVENTS: Resource[Lean] = Resource("events.k8s.io", "v1", "events", "Event", Lean)


def _now() -> datetime:
    return datetime.now(UTC)


class Recorder:
    """Tells events in the name of one component. Somebody has to `run` it."""

    def __init__(
        self, cluster: Cluster, *, instance: str, component: str = MANAGER, now: Callable[[], datetime] = _now
    ) -> None:
        self._cluster = cluster
        self._component = component
        self._instance = instance
        self._now = now
        self._told: OrderedDict[tuple[str, str, str], float] = OrderedDict()
        self._waiting: asyncio.Queue[Json] = asyncio.Queue(_BACKLOG)

    def normal(self, resource: Resource[Any], item: Lean, reason: str, note: str) -> None:
        """Something happened as it should."""
        self._tell("Normal", resource, item, reason, note)

    def warning(self, resource: Resource[Any], item: Lean, reason: str, note: str) -> None:
        """Something happened that a person should know."""
        self._tell("Warning", resource, item, reason, note)

    async def run(self) -> None:
        """Send what is waiting, until cancelled."""
        while True:
            body = await self._waiting.get()
            try:
                await self._cluster.create(EVENTS, body, manager=self._component)
            except ClusterError as error:
                _LOG.debug("event %s: %s", body["reason"], error)

    def _tell(self, kind: str, resource: Resource[Any], item: Lean, reason: str, note: str) -> None:
        if self._waiting.full() or self._told_lately((item.metadata.uid, reason, note)):
            return
        _LOG.info("%s %s/%s: %s: %s", resource.kind, item.metadata.namespace, item.metadata.name, reason, note)
        self._waiting.put_nowait(self._event(kind, resource, item, reason, note))

    def _told_lately(self, told: tuple[str, str, str]) -> bool:
        now = asyncio.get_running_loop().time()
        while self._told and next(iter(self._told.values())) < now - _REPEAT:
            self._told.popitem(last=False)
        if told in self._told:
            return True
        self._told[told] = now
        return False

    def _event(self, kind: str, resource: Resource[Any], item: Lean, reason: str, note: str) -> Json:
        meta = item.metadata
        return {
            "metadata": {"name": f"{meta.name}.{uuid.uuid4().hex[:16]}", "namespace": meta.namespace or "default"},
            "eventTime": self._now().isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "type": kind,
            "reason": reason,
            "action": re.sub(r"(?<=[a-z])(?=[A-Z])", " ", reason).split(" ")[0],
            "note": note.encode()[:_LONGEST_NOTE].decode(errors="ignore"),
            "regarding": {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "name": meta.name,
                "namespace": meta.namespace,
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
            },
            "reportingController": f"{self._component}/{resource.kind.lower()}",
            "reportingInstance": self._instance,
        }
