"""What Slurm says about its nodes, per Controller: asked when somebody waits, seldom otherwise, never for all jobs.

Slurm has no watch. One question answers for all NodeSets of a cluster and costs slurmctld nothing when nothing has
changed. It is repeated every ten seconds to keep statuses true, and every second while a worker drains.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from penstock.api.controller import Controller
from penstock.api.nodeset import NodeSet
from penstock.operator.caches import Caches
from penstock.operator.customs import Key
from penstock.operator.right_of_way import RightOfWay
from penstock.operator.slurm_links import Links, slurm_key
from penstock.operator.triggers import Look
from penstock.slurm import hostlist
from penstock.slurm.rest.client import Nodes, SlurmRest
from penstock.slurm.rest.errors import SlurmError, SlurmUnreachable
from penstock.slurm.rest.messages import NodeReport

_LOG = logging.getLogger(__name__)
_A = TypeVar("_A")

AT_REST, IN_A_HURRY, AFTER_FAILURE = 10.0, 1.0, 5.0
"""Seconds between two questions."""
_BELIEVED = 60.0
"""Seconds for which an answer is believed. It is six times as old as it should ever be: somebody is in the way."""
_WHOLE_AGAIN = 300.0
"""Seconds after which all nodes are asked for, changed or not."""


@dataclass(frozen=True, slots=True)
class Known:
    """Slurm's nodes at one moment."""

    nodes: Mapping[str, NodeReport]
    updated: int
    """Slurm's time of its answer: with it, it is asked what changed since."""
    at: float
    """The loop's time when Slurm was asked; what happened since is not in here."""
    whole: float
    """The loop's time when Slurm last told all nodes."""

    def since(self, now: float) -> int:
        """From when on to ask for changes; 0: for all nodes, in case that Slurm's clock was set back."""
        return 0 if now >= self.whole + _WHOLE_AGAIN else self.updated


def _heard(answer: Nodes | None, known: Known | None, asked_at: float) -> Known:
    """What is known after an answer; None: nothing has changed."""
    if answer is None and known is not None:
        return replace(known, at=asked_at)
    if answer is None:
        raise SlurmUnreachable("slurmrestd says that nothing has changed, to who knows nothing")
    # Its time is not older than the answer, so that we never take Slurm's clock to be ahead of where it is.
    return Known(answer.nodes, answer.updated, asked_at, whole=asyncio.get_running_loop().time())


class Slurm:
    """The Slurms of all Controllers."""

    def __init__(
        self,
        caches: Caches,
        *,
        look: Look,
        links: Links,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._caches = caches
        self._look = look
        self._links = links
        self._tell = tell
        """Given: changes are only told."""
        self._known: dict[Key, Known] = {}
        self._news: set[Key] = set()
        """Slurms of whom something else is known than when those were last told who mind."""
        self._troubles: dict[Key, str] = {}
        self._silent: dict[Key, float] = {}
        """Per Slurm: since when it has been asked in vain, by the loop's time."""
        self._read_back: dict[Key, str] = {}
        """Per Slurm: the configuration that it was seen to run."""
        self._waiting: dict[Key, set[Key]] = {}
        """Per Slurm: who waits for its nodes to change."""
        self._ways: dict[Key, RightOfWay] = {}

    def nodes(self, controller: Controller) -> Known | None:
        """What was last heard; None when nothing is known, or what is known may be untrue by now."""
        known = self._known.get(slurm_key(controller))
        return None if known is None or asyncio.get_running_loop().time() > known.at + _BELIEVED else known

    def begin_anew(self) -> None:
        """A term begins: what was heard in the last one may be hours old, and others have led since."""
        self._known.clear()
        self._silent.clear()

    def time(self, controller: Controller) -> int | None:
        """What Slurm's clock says now, in Unix seconds; None when it has not answered."""
        known = self.nodes(controller)
        passed = asyncio.get_running_loop().time()
        return None if known is None or not known.updated else known.updated + int(passed - known.whole)

    def trouble(self, controller: Controller) -> str:
        """Why nothing is known."""
        key = slurm_key(controller)
        unasked = "Slurm has not been asked for a minute" if key in self._known else "Slurm has not been asked yet"
        return self._troubles.get(key, unasked)

    def silence(self, controller: Controller) -> float | None:
        """Seconds for which Slurm has been asked in vain; None when it answers, or was not asked in this term."""
        since = self._silent.get(slurm_key(controller))
        return None if since is None else asyncio.get_running_loop().time() - since

    def waits(self, controller: Controller, who: Key, *, waiting: bool) -> Key:
        """Note whether somebody waits for a change: as long as anybody does, Slurm is asked every second."""
        key = slurm_key(controller)
        waiters = self._waiting.setdefault(key, set())
        (waiters.add if waiting else waiters.discard)(who)
        return key

    def way(self, controller: Controller) -> RightOfWay:
        """Who of us may give a node back, and who take its worker away."""
        return self._ways.setdefault(slurm_key(controller), RightOfWay())

    async def client(self, controller: Controller) -> SlurmRest:
        """A client for this Controller's Slurm; `SlurmUnreachable` when there is no way to it."""
        return await self._links.client(controller)

    async def close(self) -> None:
        """End every connection."""
        await self._links.close()

    async def change(self, controller: Controller, nodes: Collection[str], **changes: object) -> None:
        """Change nodes, all in one request."""
        words = f"update Slurm nodes {hostlist.compress(nodes)}: {changes}"
        await self.order(controller, words, lambda client: client.update_nodes(nodes, **changes))

    async def release(self, controller: Controller, job: int) -> None:
        """Take the hold off a job."""
        await self.order(controller, f"release Slurm job {job}", lambda client: client.release_job(job))

    async def order(self, controller: Controller, words: str, give: Callable[[SlurmRest], Awaitable[_A]]) -> _A | None:
        """Give Slurm an order, and return its answer; where changes are only told, so is this, in these words."""
        if self._tell is not None:
            self._tell(words)
            return None
        return await give(await self.client(controller))

    @property
    def rehearses(self) -> bool:
        """Whether changes are only told."""
        return self._tell is not None

    async def ask(self, controller: Controller) -> float:
        """Ask for all nodes, if they changed, and have those look who mind. Tells in how many seconds to ask again."""
        key = slurm_key(controller)
        try:
            await self._hear(controller, self.nodes(controller))
        except SlurmError as error:
            self._lost(key, str(error))
            self._tell_news(controller)
            return AFTER_FAILURE if self._links.known(key) else AT_REST
        self._tell_news(controller)
        return IN_A_HURRY if self._is_awaited(key) else AT_REST

    async def _hear(self, controller: Controller, before: Known | None) -> Known:
        """Ask what has changed since something was known, and note what Slurm says."""
        key, asked_at = slurm_key(controller), asyncio.get_running_loop().time()
        client = await self.client(controller)
        answer = await client.nodes(since=before.since(asked_at) if before else 0)
        self._troubles.pop(key, None)
        self._silent.pop(key, None)
        self.way(controller).heard()
        # Others may have asked meanwhile: who asked last knows best.
        known = self._known.get(key)
        if known is None or known.at <= asked_at:
            self._known[key] = _heard(answer, known or before, asked_at)
        if known is None or known.nodes != self._known[key].nodes:
            self._news.add(key)
        return _heard(answer, before, asked_at)

    def _is_awaited(self, key: Key) -> bool:
        """Whether somebody waits who is still there: who goes while it waits does not say so."""
        self._waiting[key] = {who for who in self._waiting.get(key, ()) if self._caches.find(who) is not None}
        return bool(self._waiting[key])

    async def ask_anew(self, controller: Controller) -> None:
        """Ask, unless that was done a moment ago: for decisions that what is half a minute old would make badly.

        Whom it does not answer is asked again in its own time.
        """
        known = self.nodes(controller)
        if known is None and self.silence(controller) is not None:
            return
        if known is None or asyncio.get_running_loop().time() - known.at > IN_A_HURRY:
            await self.ask(controller)

    async def nodes_now(self, controller: Controller) -> Known:
        """All nodes at this very moment, changed or not; `SlurmError` when Slurm does not say.

        It is Slurm's own answer, whatever others were told meanwhile: one whose clock was set back says to those who
        ask for changes that there are none. Nobody is told the news by it, for who asks so does it in a look.
        """
        return await self._hear(controller, None)

    def _tell_news(self, controller: Controller) -> None:
        """Have those look who mind, if there is news. What changed and changed back is: somebody may have seen it."""
        meta, key = controller.metadata, slurm_key(controller)
        if key not in self._news:
            return
        self._news.remove(key)
        for each in [*self._caches.keys(meta.namespace)]:
            decoded = self._caches.decoded(each)
            if isinstance(decoded, NodeSet) and decoded.spec.controller_ref.name == meta.name:
                self._look(each, 0)

    async def missing_partitions(
        self, controller: Controller, wanted: frozenset[str], *, of: str
    ) -> tuple[frozenset[str] | None, str]:
        """Partitions that slurmctld should run and does not; None, and why, when it cannot be asked.

        Asked once per configuration (`of` is its fingerprint), for what was read back stays true until the next one.
        """
        key = slurm_key(controller)
        if self._read_back.get(key) == of:
            return frozenset(), ""
        try:
            running = await (await self.client(controller)).partitions()
        except SlurmError as error:
            return None, str(error)
        gone = wanted - running.keys()
        if not gone:
            self._read_back[key] = of
        return gone, ""

    async def forget(self, key: Key) -> None:
        """A Controller is gone."""
        await self._links.forget(key)
        for shelf in (self._known, self._troubles, self._read_back, self._silent):
            shelf.pop(key, None)
        self._news.discard(key)
        self._waiting.pop(key, None)
        self._ways.pop(key, None)

    def _lost(self, key: Key, trouble: str) -> None:
        if self._troubles.get(key) != trouble:
            _LOG.warning("Slurm of Controller %s/%s: %s", key[1], key[2], trouble)
        self._troubles[key] = trouble
        self._silent.setdefault(key, asyncio.get_running_loop().time())
        if self._known.pop(key, None) is not None:
            self._news.add(key)
