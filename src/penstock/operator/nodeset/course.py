"""Which revision the workers of a NodeSet follow: what its spec says, or the one that it is pinned to. Pure.

A pin is an annotation with the number or the hash of a revision. It is for those whose spec comes out of a repository:
workers go back at once, and the spec follows when somebody has mended it there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.api.kinds import API_VERSION
from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.api.schema import encode
from penstock.api.validation import examine
from penstock.operator.conditions import Cause
from penstock.operator.nodeset.revision import HASH, PARTS, revision
from penstock.operator.nodeset.revisions import asked_for, hash_of, in_order, is_ours, named, parts_in, pin
from penstock.operator.resources import Pod, Revision
from penstock.render.labels import PIN

_STAY = "workers stay as they are until the annotation names another one, or is taken away"


class Unpinnable(Exception):
    """A pin that cannot be followed; the sentence says what could be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What workers are made from, and what becomes of those that are not."""

    node_set: NodeSet
    """With the parts that new workers are made from."""
    newest: str
    """The hash that these carry."""
    rolls: bool = True
    """Whether workers of other revisions are replaced."""
    makes: bool = True
    """Whether new ones are made at all."""
    known: frozenset[str] = frozenset()
    """Hashes of revisions that we recorded."""
    trouble: Cause | None = None
    """Why workers stay as they are."""


def course(node_set: NodeSet, revisions: Sequence[Revision], pods: Iterable[Pod]) -> Course:
    """What to follow. A pin that leads nowhere leaves all workers as they are."""
    known = frozenset(hash_of(one) for one in revisions if is_ours(one))
    try:
        followed = pinned(node_set, revisions)
    except Unpinnable as problem:
        return _held(node_set, revisions, pods, known, str(problem))
    one = asked_for(followed, revisions)
    return Course(node_set=followed, newest=hash_of(one) if one else revision(followed), known=known)


def _held(
    node_set: NodeSet, revisions: Sequence[Revision], pods: Iterable[Pod], known: frozenset[str], problem: str
) -> Course:
    """Who is missing is made as most of the others are; when nobody is there to tell, nobody is made."""
    trouble = Cause("UnknownRevision", problem)
    counted = Counter(pod.metadata.labels.get(HASH, "") for pod in pods if not pod.leaving)
    for one in sorted(revisions, key=lambda one: (-counted[hash_of(one)], -one.revision)):
        if counted[hash_of(one)] and (found := with_parts(node_set, parts_in(one))) is not None:
            return Course(node_set=found, newest=hash_of(one), rolls=False, known=known, trouble=trouble)
    newest = revision(node_set)
    return Course(node_set=node_set, newest=newest, rolls=False, makes=False, known=known, trouble=trouble)


def pinned(node_set: NodeSet, revisions: Sequence[Revision]) -> NodeSet:
    """The NodeSet with the parts of the revision that it is pinned to; itself without a pin."""
    word = pin(node_set)
    if not word:
        return node_set
    about, one = f'annotation {PIN}: "{word}"', named(word, revisions)
    if one is None:
        there = ", ".join(f"{each.revision} ({hash_of(each)})" for each in in_order(revisions)) or "none yet"
        raise Unpinnable(f"{about}: there is no such revision, there is {there}; {_STAY}")
    found = with_parts(node_set, parts_in(one))
    if found is None:
        raise Unpinnable(f"{about}: what this revision says does not go with the rest of the spec; {_STAY}")
    return found


def with_parts(node_set: NodeSet, some: Json | None) -> NodeSet | None:
    """The NodeSet with the parts of a revision in the places of its own; None when these do not go together."""
    if some is None:
        return None
    rest = {name: value for name, value in encode(node_set.spec).items() if name not in PARTS}
    body = {"apiVersion": API_VERSION, "kind": "NodeSet", "metadata": encode(node_set.metadata), "spec": rest | some}
    found = examine(body).kind
    return found if isinstance(found, NodeSet) else None
