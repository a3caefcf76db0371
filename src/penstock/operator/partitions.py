"""Partitions that go: they stay in slurm.conf, closed, as long as a job's record in slurmctld names them (PT-5).

When its configuration does not have a partition any more, slurmctld ends all jobs that run or wait there, as if their
nodes had failed; 24.11 also those that could as well have started in another partition (`--partition=a,b`). It makes no
difference who took it away: a NodeSet that went, `partition.enabled: false`, another name, an entry less in
`partitions` or a line less in `extraConf`. So it is closed first. It goes when slurmctld has taken that and says that
no record names it: of a job that runs, that waits, or that has ended and is not forgotten. What Slurm does not say
keeps it.

What has to be remembered is in the ConfigMap that slurmctld reads: partitions in there that nobody asks for are those
that are closed. So an operator that dies at any moment loses nothing. The same is done about nodes (`static_nodes`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.cluster.errors import NotFound
from penstock.operator import confinement, static_nodes
from penstock.operator.conditions import Condition, counted
from penstock.operator.configuration import Settings, partitions_in
from penstock.operator.context import Context
from penstock.operator.customs import Key
from penstock.operator.resources import CONFIG_MAPS, CUSTOMS, Content, Custom, Pod
from penstock.operator.slurm_links import slurm_key
from penstock.operator.workers import Workers
from penstock.render import names
from penstock.render.files import gres_conf
from penstock.render.files.slurm_conf import slurm_conf
from penstock.render.inventory import ClosedPartition, Cluster
from penstock.render.reconfigure import fingerprint
from penstock.render.scripts import script_files
from penstock.slurm import conf
from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.errors import SlurmError

_FIRST, _LONGEST = 3.0, 60.0
"""Seconds between two questions; the pauses double. A record stays for five minutes after its job (MinJobAge)."""
_CONF = "slurm.conf"
_TYPE = "PartitionsClosing"
_BEING_CLOSED = "is being closed"
_CLOSED = 'partition "{}" is not asked for any more: it takes no new jobs, and goes when no job names it'
_REMOVED = 'partition "{}" is gone: no job names it any more'


def retired(applied: str, wanted: str) -> list[ClosedPartition]:
    """Partitions of one slurm.conf that another one does not have."""
    there, asked = partitions_in(applied), partitions_in(wanted)
    return [ClosedPartition(name, rest) for name, rest in there.items() if name not in asked and conf.is_value(name)]


@dataclass(frozen=True, slots=True)
class Closing:
    """The partitions that go, and what they wait for."""

    waits: Mapping[str, str]
    """By name, in words."""
    again: float | None = None
    """Seconds until Slurm is asked once more."""


def condition(closing: Closing | None) -> Condition:
    """What is told about partitions that go; None: nobody could look."""
    if closing is None:
        return Condition(_TYPE, None, "NotLookedAt", "The configuration waits for something else.")
    if not closing.waits:
        return Condition(_TYPE, False, "Settled", "No partition waits for its last jobs.")
    told = "; ".join(f'partition "{name}" {words}' for name, words in sorted(closing.waits.items()))
    return Condition(_TYPE, True, "JobsLeft", f"{told}.")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What Slurm said, and when it is asked again."""

    judged: str
    """The configuration that all slurmctlds had judged by then."""
    waits: Mapping[str, str]
    """Of each partition what it waits for; nothing when it may go."""
    pause: float
    again_at: float

    def still_holds(self, judged: str, going: Iterable[str], now: float) -> bool:
        """Whether there is no reason to ask anew."""
        return self.judged == judged and self.waits.keys() >= set(going) and now < self.again_at


class Partitions:
    """The partitions of all Controllers."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._wanted: dict[Key, str] = {}
        self._given: dict[Key, str] = {}
        """Per Controller its slurm.conf, without and with what is kept: somebody may delete the ConfigMap."""
        self._asked: dict[Key, _Asked] = {}

    def forget(self, key: Key) -> None:
        """A Controller is gone."""
        self._asked.pop(key, None)
        for shelf in (self._wanted, self._given):
            shelf.pop(key, None)

    async def keep(self, item: Custom, cluster: Cluster, pods: Sequence[Pod]) -> tuple[Cluster, Closing]:
        """The cluster with the partitions and nodes that still have to be there, and what partitions wait for."""
        if cluster.controller.spec.external:
            return cluster, Closing({})
        key, wished = slurm_key(cluster.controller), slurm_conf(cluster)
        applied = await self._applied(key, cluster, wished)
        texts = (self._given.get(key, ""), applied.get(_CONF, ""))
        cluster, wanted = await self._borne(cluster, applied, texts, wished)
        going = {one.name: one for text in texts for one in retired(text, wanted)}
        judged = self._judged(cluster, applied, pods) if going else ""
        closing = await self._closing(key, cluster, judged, going)
        closed = replace(cluster, closed=[going[name] for name in closing.waits])
        more = closed.closed or closed.kept_nodes
        self._wanted[key], self._given[key] = wished, slurm_conf(closed) if more else wanted
        deleted = {one.slurm_name for one in cluster.node_sets if one.metadata.deletion_timestamp}
        self._tell_closed(item, deleted | closing.waits.keys(), before=partitions_in(texts[1]))
        self._tell_gone(item, going.keys() - closing.waits.keys())
        return closed, closing

    async def _borne(
        self, cluster: Cluster, applied: Mapping[str, str], texts: Iterable[str], wished: str
    ) -> tuple[Cluster, str]:
        """The cluster as its workers can bear it, those too that a watch has not shown; and its slurm.conf."""
        there = Workers(self._context, cluster)
        able = await confinement.until_free(there, cluster, applied)
        able = await static_nodes.until_free(there, able, applied.get(_CONF, ""), wished)
        wanted = wished if able is cluster else slurm_conf(able)
        kept = await static_nodes.keep(there, able, texts, wanted)
        return replace(kept, kept_gres=applied.get(gres_conf.NAME, "")), wanted

    async def _applied(self, key: Key, cluster: Cluster, wanted: str) -> Mapping[str, str]:
        """The files that slurmctld is given. Read anew when they are about to change: a watch may be behind."""
        name, namespace = names.config(cluster.controller.metadata.name), cluster.namespace
        known = await self._context.contents.config_map(namespace, name) or {}
        if self._wanted.get(key) == wanted and not _lacks(wanted, known.get(_CONF, "")):
            return known
        try:
            there: Content = await self._context.cluster.get(CONFIG_MAPS.reading(Content), name, namespace)
        except NotFound:
            return {}
        return there.data

    def _judged(self, cluster: Cluster, applied: Mapping[str, str], pods: Sequence[Pod]) -> str:
        """The fingerprint of what is applied, once every slurmctld has taken it, or refused it; nothing before."""
        there = fingerprint({**cluster.user_files, **script_files(cluster), **applied})
        reports = [self._context.reports.of(pod) for pod in pods]
        return there if {one.fingerprint if one else "" for one in reports} == {there} else ""

    async def _closing(self, key: Key, cluster: Cluster, judged: str, going: Collection[str]) -> Closing:
        """Those of the partitions that must stay. While slurmctld is given something new, nobody is asked."""
        if not judged:
            return Closing(dict.fromkeys(going, _BEING_CLOSED))
        now, asked = asyncio.get_running_loop().time(), self._asked.get(key)
        if asked is None or not asked.still_holds(judged, going, now):
            pause = min(asked.pause * 2, _LONGEST) if asked and asked.judged == judged else _FIRST
            asked = self._asked[key] = _Asked(judged, await self._ask(cluster, going), pause, now + pause)
        stay = {name: asked.waits[name] for name in going if asked.waits[name]}
        if len(stay) < len(going):
            # That nobody names a partition is believed once: is it still there at the next look, Slurm is asked again.
            self._asked.pop(key, None)
        return Closing(stay, max(asked.again_at - now, 0.0) if stay else None)

    async def _ask(self, cluster: Cluster, going: Iterable[str]) -> dict[str, str]:
        try:
            return await _waits(await self._context.slurm.client(cluster.controller), going)
        except SlurmError as error:
            return dict.fromkeys(going, f"is closed and stays until Slurm says that no job names it ({error})")

    def _tell_closed(self, item: Custom, closed: Iterable[str], *, before: Mapping[str, Settings]) -> None:
        for name in sorted(closed):
            if name in before and ("State", "DRAIN") not in before[name]:
                self._context.events.normal(CUSTOMS["Controller"], item, "PartitionClosed", _CLOSED.format(name))

    def _tell_gone(self, item: Custom, gone: Iterable[str]) -> None:
        for name in sorted(gone):
            self._context.events.normal(CUSTOMS["Controller"], item, "PartitionRemoved", _REMOVED.format(name))


def _lacks(wanted: str, applied: str) -> bool:
    """Whether something in one slurm.conf is not in another."""
    return bool(retired(applied, wanted)) or any(static_nodes.retired(applied, wanted))


async def _waits(slurm: SlurmRest, going: Iterable[str]) -> dict[str, str]:
    """Of each partition what it waits for; nothing when it may go. What slurmctld does not run, no job names."""
    running, waits = await slurm.partitions(), dict[str, str]()
    for name in going:
        if name not in running:
            waits[name] = ""
        elif running[name].takes_jobs:
            waits[name] = _BEING_CLOSED
        else:
            waits[name] = _words(name, await slurm.partition_jobs(name))
    return waits


def _words(name: str, jobs: int) -> str:
    if not jobs:
        return ""
    many = counted(jobs, "job is", "jobs are")
    return f"is closed and stays until {many} gone (squeue --all --states=all --partition={name})"
