"""What happened in a world, change by change, and what must never have: the books that judges keep."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from operator import itemgetter

import msgspec

from penstock.cluster.store.records import Change, Record
from penstock.operator.nodeset.snapshot import ON_DELETION
from penstock.operator.resources import CUSTOMS, PODS
from penstock.render import labels
from tests.simulation.loop import now
from tests.simulation.manifests import NAMESPACE
from tests.simulation.port import ACTOR, Call
from tests.simulation.world import World


class Promise(Enum):
    """What must hold at every step, or when all is quiet."""

    JOBS = "no pod with a running job is deleted by us"
    DRAINED = "no worker goes by us that is not drained"
    CLAIMS = "no claim is lost that the retention policy keeps"
    OWNERS = "claims have the owners that the retention policy gives them"
    PEOPLE = "people's drains and cordons stay"
    OURS = "nothing stays drained by us"
    REST = "the cluster comes to what people asked for"
    CALM = "no storm of writes or requests, and none at rest"
    LEADER = "only the leader writes"
    COUNT = "there are never more workers than were asked for"
    BLIND = "no worker is deleted by its name alone"
    AVAILABLE = "an update takes no more workers away than it may"
    PARTITIONS = "no partition goes that a job names"
    BOUND = "jobs are ended only by the policy that says so"
    ALIVE = "the operator does not fall over"


class _Policy(msgspec.Struct, frozen=True, rename="camel"):
    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class _RollingUpdate(msgspec.Struct, frozen=True, rename="camel"):
    max_unavailable: int | str = "25%"


class _Strategy(msgspec.Struct, frozen=True, rename="camel"):
    type: str = "RollingUpdate"
    rolling_update: _RollingUpdate = _RollingUpdate()


class _Bound(msgspec.Struct, frozen=True, rename="camel"):
    timeout: str | None = None
    on_timeout: str = "Wait"


class Wish(msgspec.Struct, frozen=True, rename="camel"):
    """What people ask of a NodeSet, as far as judges need it."""

    replicas: int = 1
    scaling_mode: str = "StatefulSet"
    retention: _Policy = msgspec.field(name="persistentVolumeClaimRetentionPolicy", default=_Policy())
    update_strategy: _Strategy = _Strategy()
    drain: _Bound = _Bound()

    @property
    def per_machine(self) -> bool:
        """DaemonSet mode."""
        return self.scaling_mode == "DaemonSet"


class _NodeSet(msgspec.Struct, frozen=True):
    spec: Wish


@dataclass(slots=True)
class SetBook:
    """A NodeSet in the books."""

    name: str
    wish: Wish
    generation: int
    most: int
    """The largest number of workers that was ever asked for."""
    workers: dict[str, str] = field(default_factory=dict)
    """Names of the workers that nobody has deleted, by their uids."""
    present: dict[str, str] = field(default_factory=dict)
    """The same, with those that are leaving."""
    deleting: bool = False
    cancels: bool = False
    """Who deleted it said that nobody waits for its jobs."""
    past: list[tuple[float, Wish]] = field(default_factory=list)
    """What people asked for before, and until when."""

    @property
    def counts(self) -> bool:
        """Whether workers were always counted, and none was ever asked for because of a machine."""
        return not self.wish.per_machine and not any(wish.per_machine for _, wish in self.past)


@dataclass(frozen=True, slots=True)
class Departure:
    """The deletion of a worker."""

    at: float
    call: Call | None
    """The operator's call; None: somebody else did it."""
    excess: int
    """How many workers there were more than asked for."""
    present: frozenset[str]
    """The uids of all workers of the NodeSet at that time."""
    wishes: tuple[Wish, ...]
    """What people ask for, and what they asked for until a moment ago."""
    deleting: bool
    """The NodeSet itself is going."""
    astray: bool
    """It was counted while each machine has a worker, or the other way round, by any of these wishes."""


LATELY = 1.0
"""Seconds: what changed since then nobody can be asked to have heard of."""


class Books:
    """All that is known."""

    def __init__(self, here: World) -> None:
        self.here = here
        self.broken: list[str] = []
        self.stop = asyncio.Event()
        """Set when a promise is broken."""
        self.counted: Counter[str] = Counter()
        self.sets: dict[str, SetBook] = {}
        """By uid."""
        self.ended: dict[str, SetBook] = {}
        """Those that are gone."""
        self.departed: dict[str, Departure] = {}
        """By the worker's uid."""
        self._told_at: dict[str, list[tuple[float, float]]] = {}
        """By the operator that asked: when it heard of Slurm's nodes, and when Slurm told them."""
        self._counted_at: dict[tuple[str, str], list[float]] = {}
        """When it told who has jobs, by that operator and the node."""
        self.on_told: Callable[[], None] = lambda: None
        """What happens right after that."""
        here.store.witness(CUSTOMS["NodeSet"].name, self._node_set)
        here.store.witness(PODS.name, self._pod)
        here.slurmrestd.after = self._told
        here.slurmrestd.counted = self._counted

    def breaks(self, promise: Promise, words: str) -> None:
        """A promise is broken."""
        self.broken.append(f"{promise.name}: {promise.value}; but at {now():.2f} s {words}")
        self.stop.set()

    def set_of(self, record: Record) -> SetBook | None:
        """The NodeSet that an object belongs to."""
        for owner in record.meta.owner_references:
            if (book := self.sets.get(owner.uid)) is not None:
                return book
        return None

    def named(self, name: str) -> SetBook | None:
        """The NodeSet of a name that is there."""
        return next((one for one in self.sets.values() if one.name == name), None)

    def was_well(self, name: str) -> bool:
        """Whether a worker that was there a moment ago was ready, and had not ended."""
        pod = self.here.kubernetes.pods.get(name, NAMESPACE)
        conditions = pod.status.get("conditions") or [] if pod and pod.status.get("phase") == "Running" else []
        return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)

    def _told(self) -> None:
        asking = self.here.slurmrestd.asking
        assert asking is not None
        self._told_at.setdefault(asking.who, []).append((now() + self.here.slurmrestd.on_its_way(asking), now()))
        self.on_told()

    def _counted(self, nodes: AbstractSet[str]) -> None:
        asking = self.here.slurmrestd.asking
        assert asking is not None
        for node in nodes:
            self._counted_at.setdefault((asking.who, node), []).append(now())

    def told(self, who: str, at: float) -> float:
        """When Slurm told the nodes that an operator had heard of at a time: what leaves then cannot know more."""
        return self.heard(who, at)[1]

    def heard(self, who: str, at: float) -> tuple[float, float]:
        """When an operator last heard of Slurm's nodes before a time, and when Slurm had told them."""
        known = ((heard, told) for heard, told in self._told_at.get(who, []) if heard <= at)
        return max(known, key=itemgetter(1), default=(0.0, 0.0))

    def counted_jobs(self, who: str, node: str, at: float) -> float:
        """When Slurm had last told an operator whether a node has jobs."""
        return max((told for told in self._counted_at.get((who, node), []) if told <= at), default=0.0)

    def _node_set(self, change: Change) -> None:
        uid, book, after = change.uid, self.sets.get(change.uid), change.after
        if book is not None and not book.deleting and _goes(change):
            book.deleting = True
            self.counted["NodeSets deleted"] += 1
        if book is not None and after is not None:
            book.cancels = ON_DELETION in after.meta.annotations
        if after is None:
            self.ended[uid] = self.sets.pop(uid)
        elif book is None or book.generation != after.meta.generation:
            self._wished(uid, book, after)

    def _wished(self, uid: str, book: SetBook | None, after: Record) -> None:
        wish, generation = msgspec.json.decode(after.body, type=_NodeSet).spec, after.meta.generation
        if book is None:
            self.sets[uid] = SetBook(after.key.name, wish, generation, wish.replicas)
        else:
            book.past.append((now(), book.wish))
            book.wish, book.generation = wish, generation
            book.most = max(book.most, wish.replicas)

    def wishes(self, book: SetBook) -> tuple[Wish, ...]:
        """What people ask for, and what they asked for until a moment ago."""
        since = now() - LATELY
        return (book.wish, *(wish for until, wish in book.past if until >= since))

    def _pod(self, change: Change) -> None:
        record = change.after or change.before
        assert record is not None
        book = self.set_of(record)
        if book is None or record.meta.labels.get(labels.NAME) != "slurmd":
            return
        if change.before is None:
            self._came(book, record)
        elif _goes(change) and record.meta.uid in book.workers:
            self._left(book, record)
        if change.after is None:
            book.present.pop(record.meta.uid, None)

    def _came(self, book: SetBook, record: Record) -> None:
        book.workers[record.meta.uid] = book.present[record.meta.uid] = record.key.name
        self.counted["workers made"] += 1
        if book.counts and len(book.workers) > book.most:
            self.breaks(Promise.COUNT, f"{record.key.name} is made: {len(book.workers)} workers of {book.most}")

    def _left(self, book: SetBook, record: Record) -> None:
        wishes, call, mode = self.wishes(book), ACTOR.get(), record.meta.labels.get(labels.SCALING_MODE)
        astray = any(wish.scaling_mode != mode for wish in wishes)
        asked = [wish.replicas for wish in wishes if wish.scaling_mode == mode and not wish.per_machine]
        excess = len(book.present) - min(asked) if asked else 0
        self.departed[record.meta.uid] = Departure(
            now(), call, excess, frozenset(book.present), wishes, book.deleting, astray
        )
        self.counted["workers deleted"] += 1
        if call is not None:
            self.counted["workers deleted by the operator"] += 1
            self.counted["scale-ins" if excess > 0 else "replacements and others"] += 1
        del book.workers[record.meta.uid]


def _goes(change: Change) -> bool:
    """Whether a deletion begins."""
    if change.before is None or change.before.meta.deletion_timestamp is not None:
        return False
    return change.after is None or change.after.meta.deletion_timestamp is not None
