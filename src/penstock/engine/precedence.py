"""Who goes first when many pods begin or end at once, told from who made them. Pure."""

from __future__ import annotations

from penstock.engine.podspec import Pod
from penstock.engine.turns import URGENT, Rank

_AMONG = 1
LATER = 2
"""Where the rank of those begins that nobody has to wait for when a cluster starts again."""
_COMPONENT = "app.kubernetes.io/name"


def rank(pod: Pod) -> Rank:
    """Who begins first, from the controller, for whom all workers wait, to those who only talk to all the others.

    Databases come after the workers: a controller that ran before remembers what it needs of them.
    """
    if pod.metadata.labels.get(_COMPONENT) == "slurmctld":
        return URGENT, 0
    if _is_made_by("ReplicaSet", pod):
        return LATER + 1, 0
    return (LATER, 0) if serves_others(pod) else (_AMONG, 0)


def rank_of_surroundings(pod: Pod) -> Rank:
    """Who has an address first: those who begin late, too, for a controller that does not know a name waits a second.

    A worker that has its surroundings is made to run before the next one gets some.
    """
    first = rank(pod)[0]
    return (_AMONG, -1) if first >= LATER else (first, 1)


def serves_others(pod: Pod) -> bool:
    """Whether others depend on a pod: controllers and databases are StatefulSets', and end last."""
    return _is_made_by("StatefulSet", pod)


def _is_made_by(kind: str, pod: Pod) -> bool:
    return any(owner.kind == kind for owner in pod.metadata.owner_references)
