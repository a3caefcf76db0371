"""What we did to workers and the watch has not shown yet.

Workers that we made: without this, a look that comes before the watch would ask for them again. That only saves
requests: names are given, so a worker that exists cannot be made twice, and what is never shown is forgotten in time.

Workers that we deleted: a look that took one of them for a worker that stays would find one too many, and take another
one away, with its claims. So that is forgotten only when the watch has shown it, however long that takes. Whoever may
not have heard it, for the answer was lost, is asked (`settle`): no clock can tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock.cluster.errors import Conflict, NotFound
from penstock.cluster.port import Cluster
from penstock.operator import fresh
from penstock.operator.nodeset.abreast import abreast
from penstock.operator.resources import Pod

FORGOTTEN_AFTER = 30.0
"""Seconds after which the watch must have shown it, or it has come and gone unseen."""


class Expected:
    """Names of workers that come, by namespace, and uids of those that go."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], float] = {}
        self._gone: set[str] = set()
        self._doubted: dict[str, Pod] = {}
        """Those of them of whom nobody knows whether they heard it."""

    @contextmanager
    def making(self, namespace: str, name: str) -> Iterator[None]:
        """Expect a worker before it is asked for, for the watch may be faster than the answer; not if that fails."""
        self._made[namespace, name] = asyncio.get_running_loop().time()
        try:
            yield
        except BaseException:
            self._made.pop((namespace, name), None)
            raise

    @contextmanager
    def removing(self, pod: Pod, watched: Callable[[], Pod | None]) -> Iterator[None]:
        """Take a worker for one that leaves before it is told to, for the watch may be faster than the answer.

        Not if it changed meanwhile, for then it stays. `watched` is what the watch shows of its name: somebody else may
        have deleted it, and the watch have shown that, before we were here to see it.
        """
        uid = pod.metadata.uid
        self._gone.add(uid)
        try:
            yield
            self._forget_shown(uid, watched())
        except NotFound:
            self._forget_shown(uid, watched())
            raise
        except Conflict:
            self._gone.discard(uid)
            raise
        except BaseException:
            if uid in self._gone:
                self._doubted[uid] = pod
            raise

    def _forget_shown(self, uid: str, there: Pod | None) -> None:
        if there is None or there.metadata.uid != uid or there.leaving:
            self._gone.discard(uid)

    async def settle(self, cluster: Cluster) -> None:
        """Find out who has heard that they are to go; the others stay until they are told again."""

        async def ask(pod: Pod) -> None:
            meta = pod.metadata
            left = await fresh.has_left(cluster, meta.namespace, meta.name, meta.uid)
            if self._doubted.pop(meta.uid, None) and not left:
                self._gone.discard(meta.uid)

        await abreast([*self._doubted.values()], ask)

    def gone(self) -> frozenset[str]:
        """The uids of workers that leave, though the watch may show them as if they stayed."""
        return frozenset(self._gone)

    def shown(self, old: Pod | None, new: Pod | None) -> None:
        """Listen to the watch: what it has shown once is expected no more."""
        if self._made and (pod := new or old) is not None:
            self._made.pop((pod.metadata.namespace, pod.metadata.name), None)
        if self._gone:
            for one in (old, new):
                if one is not None and (new is None or one.metadata.uid != new.metadata.uid or new.leaving):
                    self._gone.discard(one.metadata.uid)
                    self._doubted.pop(one.metadata.uid, None)

    def among(self, namespace: str, prefix: str) -> frozenset[str]:
        """Names in a namespace that are still expected: of the workers whose set's name, and a dash, is the prefix."""
        oldest = asyncio.get_running_loop().time() - FORGOTTEN_AFTER
        for key in [key for key, since in self._made.items() if since < oldest]:
            del self._made[key]
        # What comes after the prefix has no dash of its own, or it is a worker of a set with a longer name.
        parts = ((place, *name.rpartition("-")) for place, name in self._made)
        return frozenset(
            f"{prefix}{last}" for place, first, dash, last in parts if (place, first + dash) == (namespace, prefix)
        )
