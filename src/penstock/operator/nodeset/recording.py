"""Telling Slurm what `records` says, one request for each group of nodes, and having it forget what is `defunct`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.api.nodeset import NodeSet
from penstock.operator.context import Context
from penstock.operator.nodeset.defunct import Neighbours, defunct
from penstock.operator.nodeset.records import TOPOLOGY_FIELD, Change, Fields, changes
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.resources import CUSTOMS, Custom, Pod
from penstock.render import labels
from penstock.render.inventory import Cluster
from penstock.slurm import hostlist
from penstock.slurm.rest.errors import SlurmConflict, SlurmError, SlurmNotFound, SlurmRefused

AT_MOST = 200
"""Records that go in one look: their names are in the address of one request."""
_AGAIN_AFTER = 300.0
"""Seconds after which Slurm is told again what it refused, or took and did not do."""
_WITHOUT_TOPOLOGY = "v0.0.42"
"""All that 24.11 speaks. It takes a topology for a node, says nothing, and does nothing."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of it."""

    trouble: str = ""
    """What kept Slurm from being told: to be tried again soon."""
    refusals: Sequence[str] = ()
    """What Slurm refuses, in its own words: somebody has to mend it."""
    more: bool = False
    """There are more records to forget than fit in one look."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What a node was told."""

    fields: Fields
    at: float
    refusal: str = ""


_Memory = dict[tuple[str, str], _Told]
"""By node, and the first of the fields."""


class Recording:
    """What nodes were told and do not show yet. It only saves requests."""

    def __init__(self) -> None:
        self._told: dict[str, _Memory] = {}
        """By the uid of the NodeSet."""

    def forget(self, uid: str) -> None:
        """A NodeSet is gone."""
        self._told.pop(uid, None)

    async def record(self, context: Context, item: Custom, cluster: Cluster, now: Snapshot) -> Recorded:
        """Tell Slurm what its nodes should be, and have it forget those that are no more."""
        wanted, trouble, more = changes(now), "", False
        told = self._remembered(item.metadata.uid, wanted)
        try:
            for change in await _possible(context, cluster, wanted):
                await _tell(context, cluster, change, told)
            more = await _prune(context, item, cluster, now)
        except SlurmError as error:
            trouble = str(error)
            if isinstance(error, SlurmNotFound | SlurmConflict):
                # It is not as we thought.
                await context.slurm.ask_anew(cluster.controller)
        return Recorded(trouble, [*dict.fromkeys(one.refusal for one in told.values() if one.refusal)], more)

    def _remembered(self, uid: str, wanted: Iterable[Change]) -> _Memory:
        """What nodes were told and should still be told."""
        before = self._told.pop(uid, {})
        keys = [(node, change) for change in wanted for node in change.nodes] if before else []
        told = {
            (node, change.name): known
            for node, change in keys
            if (known := before.get((node, change.name))) is not None and known.fields == change.fields
        }
        self._told[uid] = told
        return told


async def _possible(context: Context, cluster: Cluster, wanted: Sequence[Change]) -> Sequence[Change]:
    """What this release of Slurm can be told."""
    if all(change.name != TOPOLOGY_FIELD for change in wanted):
        return wanted
    if await (await context.slurm.client(cluster.controller)).version() != _WITHOUT_TOPOLOGY:
        return wanted
    return [change for change in wanted if change.name != TOPOLOGY_FIELD]


async def _tell(context: Context, cluster: Cluster, change: Change, told: _Memory) -> None:
    at, refusal = asyncio.get_running_loop().time(), ""
    known = {node: told.get((node, change.name)) for node in change.nodes}
    fresh = [node for node, one in known.items() if one is None or at >= one.at + _AGAIN_AFTER]
    if not fresh:
        return
    try:
        await context.slurm.change(cluster.controller, fresh, **dict(change.fields))
    except SlurmNotFound:
        raise
    except SlurmRefused as error:
        refusal = f"{replace(change, nodes=tuple(fresh))}: {error}"
    for node in fresh:
        told[node, change.name] = _Told(change.fields, at, refusal)


async def _prune(context: Context, item: Custom, cluster: Cluster, now: Snapshot) -> bool:
    """Have Slurm forget nodes, after one more look at all that could miss them; tells whether there are more."""
    if not defunct(now, Neighbours()):
        return False
    known = (await context.slurm.nodes_now(cluster.controller)).nodes
    machines = {machine.metadata.name: machine for machine in context.caches.machines.all()}
    fresh = replace(now, slurm=known, machines=machines)
    neighbours = _neighbours(context, cluster)
    gone = defunct(fresh, neighbours) if neighbours is not None else []
    if gone:
        some = gone[:AT_MOST]
        named = hostlist.compress(some)
        await context.slurm.order(
            cluster.controller, f"delete Slurm nodes {named}", lambda client: client.delete_nodes(some)
        )
        told = f"{named}: down, and neither worker nor machine has the name"
        context.events.normal(CUSTOMS["NodeSet"], item, "SlurmNodesPruned", told)
    # What we know of Slurm is older than what we did.
    await context.slurm.ask(cluster.controller)
    return len(gone) > AT_MOST


def _neighbours(context: Context, cluster: Cluster) -> Neighbours | None:
    """Who else has nodes in this Slurm; None when there is a NodeSet that cannot be read."""
    caches, controller = context.caches, cluster.controller.metadata
    if any(key[0] == "NodeSet" for key, _ in caches.invalid(controller.namespace)):
        return None
    kinds = caches.kinds(controller.namespace)
    pods = (pod for pod in caches.pods.all() if pod.metadata.namespace == controller.namespace)
    return Neighbours(
        [one for one in kinds if isinstance(one, NodeSet) and one.spec.controller_ref.name == controller.name],
        frozenset(name for pod in pods for name in _names(pod)),
    )


def _names(pod: Pod) -> tuple[str, ...]:
    """Every name that the Slurm node of a worker may have, whoever made it and however."""
    meta, spec = pod.metadata, pod.spec
    return (
        meta.name,
        meta.labels.get(labels.POD_HOSTNAME, ""),
        spec.hostname,
        spec.node_name.partition(".")[0],
    )
