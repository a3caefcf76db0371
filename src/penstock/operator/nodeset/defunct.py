"""Which Slurm nodes are no more, so that their records can go (`pruneSlurmNodeRecords: NodeNotFound`). Pure.

A node goes only when nothing could miss it: it registered by itself, is down and without jobs, belongs to the NodeSet
by its feature and its name, and no worker, seat or machine has its name. And it is silent, which Slurm notices after
minutes, or its worker left because of us, and said itself that it ends. `recording` asks Slurm once more before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.api.nodeset import NodeSet, Prune, ScalingMode
from penstock.operator.nodeset.drains import is_our_drain
from penstock.operator.nodeset.snapshot import Snapshot, seat_at, slurm_node
from penstock.render import names
from penstock.render.seat import has_own_name
from penstock.slurm.nodestate import Base, Flag
from penstock.slurm.rest.messages import NodeReport

_ALLOWED = {Flag.DYNAMIC_NORM, Flag.NOT_RESPONDING, Flag.DRAIN, Flag.INVALID_REG}
"""All that may be said of a node that is no more: one that reboots, or is powered down, comes back."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """All NodeSets of a Slurm, and the nodes of all their workers: what is theirs is not to be taken away."""

    node_sets: Sequence[NodeSet] = ()
    nodes: AbstractSet[str] = frozenset()


def defunct(now: Snapshot, neighbours: Neighbours) -> list[str]:
    """Slurm nodes of a NodeSet that are no more and that nobody will miss."""
    if now.slurm is None or now.node_set.spec.prune_slurm_node_records is not Prune.NODE_NOT_FOUND:
        return []
    dead = [one.name for one in now.slurm.values() if _is_dead(one) and _belongs(now.node_set, one)]
    if not dead:
        return []
    seats = _seats(now, neighbours)
    used = neighbours.nodes | {slurm_node(now.node_set, pod) for pod in now.pods} | _machines(now, seats)
    return sorted(name for name in dead if name not in used and not _is_wanted(seats, name))


def _is_dead(report: NodeReport) -> bool:
    state, left = report.condition, is_our_drain(report)
    return (
        Flag.DYNAMIC_NORM in state.flags
        and state.flags <= _ALLOWED
        and state.base is Base.DOWN
        and (left or Flag.NOT_RESPONDING in state.flags)
        and not state.busy
        and not state.unfamiliar
        and not report.reservation
        # A person's drain outlives the worker, for the next one of its name; with the record it would be forgotten.
        and (left or not state.drain)
    )


def _belongs(node_set: NodeSet, report: NodeReport) -> bool:
    named = not has_own_name(node_set) or _ordinal(node_set, report.name) is not None
    return named and node_set.slurm_name in report.features and _is_said_ours(node_set, report.comment)


def _is_said_ours(node_set: NodeSet, comment: str) -> bool:
    """Slinky notes in the comment whose node it is: a further proof where it stands, and none where it does not."""
    try:
        noted: Any = msgspec.json.decode(comment)
    except msgspec.DecodeError:
        return True
    if not isinstance(noted, dict) or "nodeSetName" not in noted:
        return True
    meta = node_set.metadata
    ours = {"namespace": meta.namespace, "nodeSetName": meta.name, "nodeSetUID": meta.uid}
    return all(noted.get(name, text) == text for name, text in ours.items())


def _ordinal(node_set: NodeSet, node: str) -> int | None:
    """The ordinal in a node's name, however many zeros it has; None when the name is none of the NodeSet's."""
    prefix = node_set.hostname_prefix or f"{node_set.metadata.name}-"
    digits = node.removeprefix(prefix)
    return int(digits) if node.startswith(prefix) and digits.isascii() and digits.isdecimal() else None


def _seats(now: Snapshot, neighbours: Neighbours) -> list[tuple[NodeSet, int]]:
    """All NodeSets, and how many seats each of them has; of this one also what it wanted when we looked."""
    own = now.node_set.metadata.uid
    everyone = (*neighbours.node_sets, now.node_set)
    goes = {own} if now.deleting else set[str]()
    return [(one, 0 if one.metadata.uid in goes else one.spec.possible_replicas) for one in everyone]


def _is_wanted(seats: Sequence[tuple[NodeSet, int]], node: str) -> bool:
    """Whether a seat has this name: its worker may come any moment."""
    for node_set, count in seats:
        ordinal = _ordinal(node_set, node) if has_own_name(node_set) else None
        if ordinal is not None and ordinal < count and names.slurm_node(node_set, ordinal) == node:
            return True
    return False


def _machines(now: Snapshot, seats: Sequence[tuple[NodeSet, int]]) -> set[str]:
    """Names that machines have in Slurm, where workers are named by them."""
    modes = {one.spec.scaling_mode for one, _ in seats if not has_own_name(one)}
    found = set[str]()
    for machine in now.machines.values() if modes else ():
        if ScalingMode.DAEMON_SET in modes:
            found.add(str(seat_at(now.node_set, machine).slurm_node))
        if ScalingMode.STATEFUL_SET in modes:
            found.add(machine.metadata.name.partition(".")[0])
    return found
