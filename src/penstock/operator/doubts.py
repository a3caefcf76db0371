"""Jobs that are over though Slurm counts them: after the death of a slurmd or of slurmctld, Slurm is made to look.

A batch job that its node does not know is believed to be still on its way there for as long as Slurm heard of it less
than BatchStartTimeout and MessageTimeout ago, 20 seconds by default. So one that dies with its slurmd right after its
start is RUNNING, and nobody asks again before the twentieth ping, half an hour later. A slurmctld that was killed takes
all its jobs for heard of just now, also those whose end it had not saved.

So when either of them has begun anew, and Slurm counts jobs on a node, the node is asked once more after that time. To
undrain a node that is not drained does just this: slurmctld has it register at once, and what the node does not know
ends as Slurm sees fit, in NODE_FAIL or back in the queue (26.05 and 24.11). A node that is drained waits for its ping.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from penstock.api.controller import Controller
from penstock.api.nodeset import NodeSet
from penstock.operator.context import Context
from penstock.operator.customs import Key
from penstock.operator.nodeset.snapshot import slurm_node
from penstock.operator.resources import Pod
from penstock.operator.slurm import AFTER_FAILURE
from penstock.operator.slurm_links import SLURM, slurm_key
from penstock.render import labels
from penstock.slurm import conf, hostlist
from penstock.slurm.rest.errors import SlurmError
from penstock.slurm.rest.messages import NodeReport

_LOG = logging.getLogger(__name__)
_DAEMONS = frozenset({"slurmctld", "slurmd"})
_DEFAULT = 10
"""Seconds: Slurm's BatchStartTimeout, and MessageTimeout, of which it counts no more than this."""
_MARGIN = 2
"""Seconds: Slurm counts whole ones, and a daemon is seen to start a moment before it has read its state."""


@dataclass(frozen=True, slots=True)
class Life:
    """The present run of the daemon in some pods."""

    name: str
    restarts: int

    @classmethod
    def of(cls, pods: Iterable[Pod]) -> Life:
        """Names the run, so that it is told from all others."""
        found = sorted((pod.metadata.uid, restarts(pod)) for pod in pods)
        return cls(str(found), sum(count for _, count in found))

    def begins(self, before: str | None) -> bool:
        """Whether the daemon has begun anew since a run; None: none was seen, and one that never died is no news."""
        return self.restarts > 0 if before is None else self.name != before


@dataclass(slots=True)
class Book:
    """What is known of the daemons of a cluster, and the nodes in doubt."""

    slurmctld: str | None = None
    workers: dict[str, str] = field(default_factory=dict)
    """The run of each node's slurmd."""
    since: dict[str, float] = field(default_factory=dict)
    """The nodes in doubt, and since when: by the loop's clock."""
    silent: bool = False
    """Slurm did not answer when it was last asked."""

    def note(self, slurmctld: Life, workers: Mapping[str, Life], now: float) -> None:
        """Note what runs now; who has begun anew comes into doubt."""
        anew = slurmctld.begins(self.slurmctld)
        begun = [name for name, life in workers.items() if anew or life.begins(self.workers.get(name))]
        self.slurmctld, self.workers = slurmctld.name, {name: life.name for name, life in workers.items()}
        self.since = {name: at for name, at in self.since.items() if name in workers} | dict.fromkeys(begun, now)

    def hear(self, nodes: Mapping[str, NodeReport] | None, now: float) -> None:
        """Take what Slurm says. Without jobs there is no doubt; one who was silent has just begun to doubt."""
        if nodes is not None:
            busy = [name for name in self.since if name not in nodes or nodes[name].condition.busy]
            self.since = {name: now if self.silent else self.since[name] for name in busy}
        self.silent = nodes is None

    def due(self, nodes: Mapping[str, NodeReport], bound: float) -> list[str]:
        """The nodes that may be asked, of those who are in doubt since a time or longer."""
        return [name for name, at in self.since.items() if at <= bound and name in nodes and may_be_asked(nodes[name])]


def restarts(pod: Pod) -> int:
    """How often the daemon of a pod has been started again."""
    return sum(one.restart_count for one in pod.status.container_statuses if one.name in _DAEMONS)


def may_be_asked(node: NodeReport) -> bool:
    """Whether there is something to ask a node, and nobody's drain to lose by it."""
    return node.condition.known and node.condition.busy and not node.condition.drain


@lru_cache(maxsize=64)
def patience(extra_conf: str | None) -> float:
    """Seconds for which Slurm gives a job the benefit of the doubt."""
    said = conf.settings(extra_conf or "")
    start, message = (_number(said.get(key)) for key in ("batchstarttimeout", "messagetimeout"))
    return start + min(message, _DEFAULT) + _MARGIN


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else _DEFAULT


class Doubts:
    """The doubts about the nodes of all Controllers."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._books: dict[Key, Book] = {}
        context.caches.pods.subscribe(self._shown)

    def forget(self, key: Key) -> None:
        """A Controller is gone."""
        self._books.pop(key, None)

    async def heal(self, controller: Controller) -> float | None:
        """Have the nodes asked whose time is over; tells in how many seconds to come again, or None."""
        if self._context.slurm.rehearses:
            return None
        known, now = self._context.slurm.nodes(controller), asyncio.get_running_loop().time()
        book = self._books.setdefault(slurm_key(controller), Book())
        book.note(Life.of(self._context.caches.pods_of("slurmctld", controller)), self._workers(controller), now)
        book.hear(known.nodes if known else None, now)
        bound = now - patience(controller.spec.extra_conf)
        try:
            if known and (due := book.due(known.nodes, bound)):
                await self._ask(controller, book, due)
        except SlurmError as error:
            _LOG.warning("Slurm of Controller %s: jobs in doubt: %s", "/".join(slurm_key(controller)[1:]), error)
            return AFTER_FAILURE
        return min((at - bound for at in book.since.values() if at > bound), default=None)

    async def _ask(self, controller: Controller, book: Book, due: Collection[str]) -> None:
        """Have nodes asked, after one more look: somebody may have drained one a moment ago."""
        with self._context.slurm.way(controller).give_back(due) as free:
            nodes = (await self._context.slurm.nodes_now(controller)).nodes
            names = [name for name in due if name in free and name in nodes and may_be_asked(nodes[name])]
            if names:
                await self._context.slurm.change(controller, names, state=["UNDRAIN"])
                _LOG.info("Slurm is made to ask %s which jobs it has", hostlist.compress(names))
        for name in names:
            del book.since[name]

    def _workers(self, controller: Controller) -> dict[str, Life]:
        """The run of each node's slurmd. A pod that leaves has an heir, or none is wanted."""
        return {
            slurm_node(node_set, pod): Life.of([pod])
            for node_set in self._node_sets(controller)
            for pod in self._context.caches.pods.by("owners", node_set.metadata.uid)
            if not pod.leaving
        }

    def _node_sets(self, controller: Controller) -> Iterator[NodeSet]:
        meta = controller.metadata
        for one in self._context.caches.kinds(meta.namespace):
            if isinstance(one, NodeSet) and one.spec.controller_ref.name == meta.name:
                yield one

    def _shown(self, old: Pod | None, new: Pod | None) -> None:
        if old and new and restarts(old) != restarts(new):
            its = new.metadata.labels
            name = its.get(labels.CLUSTER) or its.get(labels.INSTANCE, "")
            self._context.look((SLURM, new.metadata.namespace, name), 0)
