"""Shows pods what their ConfigMaps and Secrets hold now, and what they themselves say, in the volumes that tell of it.

A pod whose volumes are still being made looks at everything once more when they are (`pod.py`); here are those that
have them. What cannot be shown now is tried again until it can: nobody changes a ConfigMap twice for our sake.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.cluster.queue import WorkQueue
from penstock.engine.contents import Content
from penstock.engine.pod import PodTask, Tell
from penstock.engine.podspec import Pod
from penstock.engine.volumes.contents import tells_of_pod
from penstock.engine.volumes.sources import references

_WORKERS = 2
"""Pods whose files are written at a time: one with a slow disk holds up nobody."""
_AGAIN = 30.0
"""Seconds before files that could not be written are tried again."""


class Freshness:
    """Keeps volumes current. `run` it, and tell it what has changed."""

    def __init__(self, tasks: Mapping[str, PodTask], tell: Tell) -> None:
        """Tasks by uid, as they come and go."""
        self._tasks = tasks
        self._tell = tell
        self._stale: WorkQueue[str] = WorkQueue()

    async def run(self) -> None:
        """Bring volumes up to date until cancelled."""
        await self._stale.run(self._refresh, workers=_WORKERS)

    def content_changed(self, kind: str, item: Content) -> None:
        """A ConfigMap or a Secret has come, gone, or changed."""
        for task in self._tasks.values():
            same = task.pod.metadata.namespace == item.metadata.namespace
            if same and (kind, item.metadata.name) in references(task.pod):
                self._note(task)

    def pod_changed(self, task: PodTask, before: Pod) -> None:
        """A pod has changed; of all that it can be told of itself only labels and annotations ever do."""
        old, new = before.metadata, task.pod.metadata
        if (old.labels, old.annotations) == (new.labels, new.annotations):
            return
        if any(map(tells_of_pod, task.pod.spec.volumes)):
            self._note(task)

    def _note(self, task: PodTask) -> None:
        self._stale.add(task.pod.metadata.uid)
        task.poke()

    async def _refresh(self, uid: str) -> None:
        if (task := self._tasks.get(uid)) is None:
            return
        try:
            await task.sandbox.refresh(task.pod)
        except Exception as problem:
            # What was shown stays meanwhile.
            self._tell(task.pod, "Warning", "FailedMount", str(problem))
            self._stale.add_after(uid, _AGAIN)
