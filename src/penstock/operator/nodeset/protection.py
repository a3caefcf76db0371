"""Who keeps its protection though its node says that it is idle: who has jobs that are suspended, or may have.

Marks are made often, and questions about jobs cost slurmctld something. So it is asked only before a label goes: once
about all nodes that became idle, and about those that had jobs all the same once a minute, for nobody tells when a job
ends that was suspended. At rest nobody is labelled, and nothing asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.api.controller import Controller
from penstock.operator.context import Context
from penstock.operator.nodeset import suspended
from penstock.operator.nodeset.marks import freed
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.slurm import AT_REST
from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.errors import SlurmError
from penstock.slurm.rest.messages import NodeReport

_AGAIN_AFTER = 60.0
"""Seconds after which Slurm is asked again about suspended jobs."""
_BELIEVED = 1.0
"""Seconds for which its word counts that a node has none: by then the watch shows that the label is gone."""

_Nodes = Mapping[str, NodeReport]
"""What Slurm said of nodes when it was asked for their jobs: what it says anew is a reason to ask anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    """Slurm's word on nodes that seem idle."""

    held: _Nodes = field(default_factory=dict)
    """Those that have jobs all the same, or may have."""
    jobs: frozenset[str] = frozenset()
    """Which, if they were asked for together: as long as these are the same, nobody need be found among many."""
    held_until: float = 0.0
    """The loop's time from which on it is asked again."""
    free: _Nodes = field(default_factory=dict)
    """Those that have none."""
    free_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Protection:
    """Finds them. What it remembers only saves questions: the label itself says who was busy."""

    _words: dict[str, _Word] = field(default_factory=dict)
    """By the uid of the NodeSet."""

    def forget(self, uid: str) -> None:
        """A NodeSet is gone."""
        self._words.pop(uid, None)

    async def known(self, context: Context, controller: Controller, now: Snapshot) -> tuple[Snapshot, float | None]:
        """The same with those who keep their protection; and in how many seconds to ask for them again."""
        owner, seeming = now.node_set.metadata.uid, {report.name: report for report in freed(now)}
        before, time = self._words.pop(owner, _Word()), asyncio.get_running_loop().time()
        if not seeming:
            return now, None
        try:
            word = await _asked(await context.slurm.client(controller), before, seeming, time)
        except SlurmError:
            word = _Word(held=seeming, held_until=time + AT_REST)  # what is not known is not safe
        self._words[owner] = word
        return replace(now, suspended=frozenset(word.held)), word.held_until - time if word.held else None


async def _asked(client: SlurmRest, before: _Word, seeming: _Nodes, time: float) -> _Word:
    """What Slurm says; it is asked about those only of whom it did not say the same a moment ago."""
    word = replace(before, held=_same(before.held, seeming))
    if word.held and time >= word.held_until:
        word = replace(await _still(client, word), held_until=time + _AGAIN_AFTER)
    others = {name: report for name, report in seeming.items() if name not in word.held}
    if len(_same(before.free, others)) == len(others) and time < before.free_until:
        return word
    found = {name: seeming[name] for name in await suspended.with_jobs(client, [*others])}
    return _Word(
        held={**word.held, **found},
        jobs=frozenset() if found else word.jobs,
        held_until=word.held_until if word.held else time + _AGAIN_AFTER,
        free={name: report for name, report in others.items() if name not in found},
        free_until=time + _BELIEVED,
    )


async def _still(client: SlurmRest, word: _Word) -> _Word:
    """Who has jobs still, in one question as long as nothing has changed about them."""
    nodes = [*word.held]
    jobs = frozenset(one.step_id for one in await client.jobs_on(nodes))
    if jobs and jobs != word.jobs:
        nodes = await suspended.with_jobs(client, nodes)
    return replace(word, held={name: word.held[name] for name in nodes if jobs}, jobs=jobs)


def _same(before: _Nodes, seeming: _Nodes) -> dict[str, NodeReport]:
    return {name: report for name, report in before.items() if seeming.get(name) == report}
