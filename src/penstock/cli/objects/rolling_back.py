"""The way back to an earlier revision of a NodeSet: what its spec has to say for that. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.api.validation import InvalidObject, decode
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.fields import mapping, name_of, text
from penstock.cli.objects.patches import difference, merged
from penstock.cli.objects.worker_revisions import Kept
from penstock.operator.nodeset.revision import PARTS, fingerprint, parts
from penstock.render.labels import CHANGE_CAUSE, PIN


def chosen(found: Sequence[Kept], wanted: int, who: str, item: Json) -> Kept:
    """The revision of a number; without one the newest that says something else than the spec does now."""
    there = ", ".join(str(one.number) for one in found) or "none"
    if wanted:
        for one in found:
            if one.number == wanted:
                return one
        raise Complaint(f"{who} has no revision {wanted}; there is {there}")
    now = fingerprint(parts(_read(item)))
    earlier = [one for one in found if one.says is not None and fingerprint(one.says) != now]
    if not earlier:
        raise Complaint(f"{who} has no earlier revision to go back to; there is {there}")
    return earlier[-1]


def way_back(item: Json, to: Kept, who: str) -> Json:
    """The merge patch after which the spec says what a revision says; empty when it does already."""
    if to.says is None:
        raise Complaint(
            f"{who}: revision {to.number} holds nothing that can be read; choose another with --to-revision"
        )
    spec, now, then = mapping(item, "spec"), parts(_read(item)), to.says
    differing = [name for name in PARTS if fingerprint({"": now.get(name)}) != fingerprint({"": then.get(name)})]
    patch = {name: _step(spec.get(name), then.get(name)) for name in differing}
    if fingerprint(parts(_read(item | {"spec": merged(spec, patch)}))) != fingerprint(then):
        # A null in a patch takes a field away; one that people wrote takes away what we make of it.
        raise Complaint(
            f"{who}: revision {to.number} has a field that is null, which no patch can write; apply the manifest, "
            f"or pin it: penstock annotate nodeset {name_of(item)} {PIN}={to.hash}"
        )
    return {"spec": patch} | _cause(item, to) if patch else {}


def _cause(item: Json, to: Kept) -> Json:
    """Why the revision was made goes back with it: else it would be said to be made for what is undone."""
    said = text(item, "metadata", "annotations", CHANGE_CAUSE)
    return {} if said == to.cause else {"metadata": {"annotations": {CHANGE_CAUSE: to.cause or None}}}


def _step(was: object, wanted: object) -> object:
    both = isinstance(was, dict) and isinstance(wanted, dict)
    return difference(was, wanted) if both else wanted  # type: ignore[arg-type]


def _read(item: Json) -> NodeSet:
    """A NodeSet as the operator reads it."""
    try:
        found = decode({key: value for key, value in item.items() if key != "status"})
    except InvalidObject as problem:
        raise Complaint(f"nodeset {name_of(item)} cannot be read: {problem}") from None
    if not isinstance(found, NodeSet):
        raise Complaint(f"{name_of(item)} is no NodeSet")
    return found
