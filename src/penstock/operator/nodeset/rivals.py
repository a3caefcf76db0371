"""Slurm nodes that are other NodeSets' of the cluster. Pure.

Where machines give nodes their names, two NodeSets that are meant for one machine would have one node, and Slurm would
take each of their slurmds for the other. So a name belongs to who has a worker of that name. Where nobody has, it
belongs to the eldest of those who may make one, so that those who begin at the same moment agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.api.nodeset import NodeSet, ScalingMode
from penstock.operator.nodeset.snapshot import seat_at, slurm_node
from penstock.operator.resources import Machine, Pod


@dataclass(frozen=True, slots=True)
class Rival:
    """Another NodeSet of the cluster."""

    node_set: NodeSet
    pods: Sequence[Pod]
    elder: bool
    """Whether it was made before."""
    takes: Callable[[Machine], bool]
    """Whether it may have a worker on a machine."""


def names_of(rivals: Sequence[Rival], takers: Iterable[Machine]) -> Mapping[str, str]:
    """Slurm nodes that others have, or will have on these machines, with whose they are."""
    found = dict(_had(rivals))
    machines = [*takers]
    for one in rivals:
        if one.elder and one.node_set.spec.scaling_mode is ScalingMode.DAEMON_SET:
            for machine in filter(one.takes, machines):
                found.setdefault(seat_at(one.node_set, machine).slurm_node or "", one.node_set.metadata.name)
    return found


def _had(rivals: Iterable[Rival]) -> Iterator[tuple[str, str]]:
    for one in rivals:
        yield from ((slurm_node(one.node_set, pod), one.node_set.metadata.name) for pod in one.pods if not pod.ended)
