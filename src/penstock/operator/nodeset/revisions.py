"""The revisions of a NodeSet: what its workers are made from, and were. Pure; `history` keeps them in the cluster.

Each is a ControllerRevision, as StatefulSets have them: what people wrote, a hash that workers carry, and a number that
rises. Which of them a NodeSet asks for is found by what is in it and not by its hash. So no worker is replaced because
hashes are reckoned otherwise, by another Penstock or by Slinky, whose revisions can be read as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from penstock.api.nodeset import NodeSet, NodeSetSpec
from penstock.api.objects import Json
from penstock.api.scalars import decode_scalar
from penstock.api.schema import encode
from penstock.operator.nodeset.revision import HASH, OURS, chosen, digest, fingerprint, parts
from penstock.operator.once import once
from penstock.operator.resources import Pod, Revision
from penstock.render import labels
from penstock.render.labels import CHANGE_CAUSE, PIN

KEPT = 10
"""Old revisions that are kept where nobody said how many. Slinky's default is 0, and an API server writes that into
every NodeSet; so 0 is what somebody said who said nothing, and must not cost them the way back."""
_SLINKYS = "$patch"
"""Stands in the template of every revision that Slinky made: it keeps them as patches."""
_EMPTY: tuple[object, ...] = (None, "", [], {})


def asked_for(node_set: NodeSet, revisions: Iterable[Revision]) -> Revision | None:
    """The kept revision that a NodeSet asks for; None when it was not kept yet."""
    wanted = _said(node_set)
    found = [one for one in revisions if _kept(one) == wanted]
    # Of two that are alike, as when Slinky had it in between, always the same.
    return max(found, key=lambda one: (is_ours(one), one.revision, one.metadata.name), default=None)


@once
def _said(node_set: NodeSet) -> bytes:
    return fingerprint(parts(node_set))


@once
def _kept(one: Revision) -> bytes | None:
    some = parts_in(one)
    return None if some is None else fingerprint(some)


def parts_in(one: Revision) -> Json | None:
    """What a revision keeps; None when that is nothing that a NodeSet could say."""
    said = one.data.get("spec") if isinstance(one.data, dict) else None
    if not isinstance(said, dict):
        return None
    template = said.get("template")
    written = chosen(_tidied(said) if isinstance(template, dict) and _SLINKYS in template else said)
    try:
        spec = msgspec.convert({"controllerRef": {}, **written}, NodeSetSpec, dec_hook=decode_scalar)
    except msgspec.ValidationError:
        return None
    return chosen(encode(spec))


def _tidied(value: Any) -> Any:
    """Of what Slinky kept only what somebody wrote: Go writes empty fields too."""
    if isinstance(value, list):
        return [_tidied(part) for part in value]
    if not isinstance(value, dict):
        return value
    tidy = {name: _tidied(part) for name, part in value.items() if name != _SLINKYS}
    return {name: part for name, part in tidy.items() if part not in _EMPTY}


def hash_of(one: Revision) -> str:
    """What workers of a revision carry."""
    return one.metadata.labels.get(HASH) or one.metadata.name.rpartition("-")[2]


def is_ours(one: Revision | Pod) -> bool:
    """Whether we made it, or have taken it over for good."""
    return OURS.items() <= one.metadata.labels.items()


def in_order(revisions: Iterable[Revision]) -> list[Revision]:
    """The oldest first."""
    return sorted(revisions, key=lambda one: (one.revision, one.metadata.creation_timestamp, one.metadata.name))


def pin(node_set: NodeSet) -> str:
    """The number or the hash of the revision that workers shall have; empty: as the spec says."""
    return node_set.metadata.annotations.get(PIN, "").strip()


def named(word: str, revisions: Iterable[Revision]) -> Revision | None:
    """The revision of a hash, or of a number."""
    found = [*revisions]
    by_hash = [one for one in found if hash_of(one) == word]
    return next(iter(by_hash or [one for one in found if str(one.revision) == word]), None)


def body(node_set: NodeSet, number: int, *, collisions: int = 0) -> Json:
    """A revision to be kept."""
    meta, some = node_set.metadata, parts(node_set)
    name, cause = digest(some, collisions=collisions), meta.annotations.get(CHANGE_CAUSE)
    return {
        "metadata": {
            "name": f"{meta.name}-{name}",
            "namespace": meta.namespace,
            "labels": labels.component("slurmd", node_set) | {HASH: name, **OURS},
            "annotations": {CHANGE_CAUSE: cause} if cause else {},
            "ownerReferences": [labels.owned(node_set)],
        },
        "data": {"spec": some},
        "revision": number,
    }


def as_newest(node_set: NodeSet, one: Revision, revisions: Iterable[Revision]) -> Json:
    """The patch that makes a kept revision the newest: one that is used again gets a new number."""
    meta, cause, patch = one.metadata, node_set.metadata.annotations.get(CHANGE_CAUSE), Json()
    highest = max((each.revision for each in revisions if each.metadata.uid != meta.uid), default=0)
    # A pin that names it by its number would lose it.
    if one.revision <= highest and pin(node_set) != str(one.revision):
        patch["revision"] = highest + 1
    about = {} if is_ours(one) else {"labels": dict(OURS)}
    if cause and meta.annotations.get(CHANGE_CAUSE) != cause:
        about["annotations"] = {CHANGE_CAUSE: cause}
    return patch | ({"metadata": about} if about else {})


def taken_over(node_set: NodeSet, one: Revision, number: int) -> Json:
    """The patch that makes a revision of Slinky's ours to find, with its own number and a hash of our reckoning."""
    meta, some = one.metadata, None if is_ours(one) else parts_in(one)
    wanted = labels.component("slurmd", node_set) | ({HASH: digest(some)} if some is not None else {})
    lacking = {name: text for name, text in wanted.items() if meta.labels.get(name) != text}
    about: Json = {"labels": lacking} if lacking else {}
    if not any(owner.controller for owner in meta.owner_references):
        others = [encode(owner) for owner in meta.owner_references if owner.uid != node_set.metadata.uid]
        about["ownerReferences"] = [*others, labels.owned(node_set)]
    renumbered = {} if one.revision == number else {"revision": number}
    return renumbered | ({"metadata": about} if about else {})


def lined_up(revisions: Iterable[Revision]) -> list[tuple[Revision, int]]:
    """Revisions with numbers that rise, the newest first: written in that order they are in order at every moment.

    Slinky gives each of its revisions the number 1.
    """
    numbered, last = list[tuple[Revision, int]](), 0
    for one in in_order(revisions):
        last = max(last + 1, one.revision)
        numbered.append((one, last))
    return numbered[::-1]


def surplus(node_set: NodeSet, revisions: Sequence[Revision], used: Collection[str]) -> list[Revision]:
    """Those that need not be kept: old ones that no worker has, nobody asks for, and nobody is pinned to."""
    wanted = (asked_for(node_set, revisions), named(pin(node_set), revisions))
    keep = {one.metadata.uid for one in wanted if one is not None}
    free = [one for one in in_order(revisions) if one.metadata.uid not in keep and hash_of(one) not in used]
    return free[: max(len(free) - (node_set.spec.revision_history_limit or KEPT), 0)]
