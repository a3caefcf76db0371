"""How a worker registers: by itself, or as a node that slurm.conf names. Pure.

Its pod says so from its making on. One that an older operator made does not; then its revision does, whichever set that
is of: sets come and go, and workers outlive them. A revision may be gone, too, or not be shown yet. Then nobody knows,
and what would be wrong for either kind is not done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from penstock.api.nodeset import Registration
from penstock.api.objects import Labels
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.revisions import hash_of, parts_in
from penstock.operator.once import once
from penstock.operator.resources import Pod, Revision
from penstock.render import labels

UNKNOWN = "Unknown"
"""What the label says when nobody can tell any more: the worker had lost its labels, and its hash is not its own."""
_SAID = {one.value: one for one in Registration}

_Made = Mapping[str, AbstractSet[Registration | None]]
"""By the hash of revisions how workers of it register; two revisions may have one hash, and one may be unreadable."""


class Parted(NamedTuple):
    """Workers by how they register."""

    static: list[Pod]
    dynamic: list[Pod]
    unknown: list[Pod]


def parted(pods: Iterable[Pod], revisions: Iterable[Revision]) -> Parted:
    """Tell static workers from those that register by themselves, and from those of whom nobody knows."""
    made, found = _made(revisions), Parted([], [], [])
    shelves = {Registration.STATIC: found.static, Registration.DYNAMIC: found.dynamic, None: found.unknown}
    for pod in pods:
        shelves[_registration(pod, made)].append(pod)
    return found


def adopted(has: Labels) -> Labels:
    """The label for a worker that is not ours, by those that it has: Slinky's register by themselves, all of them.

    They all have a hash. A worker without one is of somebody who lost his labels, and may be anybody.
    """
    word = Registration.DYNAMIC.value if HASH in has else UNKNOWN
    return {labels.REGISTRATION: has.get(labels.REGISTRATION, word)}


def restored(lost: Labels) -> Labels:
    """Of the labels that a worker lacks those it may get again: how it was made the set of today cannot say."""
    if labels.REGISTRATION not in lost:
        return lost
    # With its hash its revision can be asked. Without, it gets the newest hash, which would tell a tale.
    rest = {label: text for label, text in lost.items() if label != labels.REGISTRATION}
    return rest | ({labels.REGISTRATION: UNKNOWN} if HASH in lost else {})


def _registration(pod: Pod, made: _Made) -> Registration | None:
    its = pod.metadata.labels
    if (said := its.get(labels.REGISTRATION)) is not None:
        return _SAID.get(said)
    ways = made.get(its.get(HASH, ""), frozenset())
    return next(iter(ways)) if len(ways) == 1 else None


def _made(revisions: Iterable[Revision]) -> _Made:
    found = defaultdict[str, set[Registration | None]](set)
    for one in revisions:
        found[hash_of(one)].add(_of_revision(one))
    return found


@once
def _of_revision(one: Revision) -> Registration | None:
    some = parts_in(one)
    return None if some is None else _SAID.get(some.get("registration", Registration.DYNAMIC.value))
