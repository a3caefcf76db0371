"""Earlier templates of a workload: ReplicaSets of a Deployment, ControllerRevisions of the others."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.objects import Json
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.fields import NONE, items, mapping, name_of, namespace_of, number, text
from penstock.cli.objects.selecting import everything, label
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry

_NUMBER = "deployment.kubernetes.io/revision"
_CAUSE = "kubernetes.io/change-cause"
_HASH = "pod-template-hash"
_KEPT_BY = {
    "deployments.apps": "replicasets",
    "statefulsets.apps": "controllerrevisions",
    "daemonsets.apps": "controllerrevisions",
}


@dataclass(frozen=True, slots=True)
class Revision:
    """A template that a workload has, or had."""

    number: int
    cause: str
    template: Json


async def revisions(session: Session, entry: Entry, item: Json) -> list[Revision]:
    """The templates of a workload that are kept, the oldest first."""
    if entry.name not in _KEPT_BY:
        raise Complaint(f"{label(entry, name_of(item))}: {entry.plural} keep no earlier templates")
    kept = await everything(session, await session.kinds.find(_KEPT_BY[entry.name]))
    mine = [one for one in kept.items if _owned(one, text(item, "metadata", "uid"))]
    return sorted(map(_revision, mine), key=lambda one: one.number)


def _owned(one: Json, uid: str) -> bool:
    return any(text(owner, "uid") == uid for owner in items(one, "metadata", "ownerReferences"))


def _revision(one: Json) -> Revision:
    cause = text(one, "metadata", "annotations", _CAUSE, otherwise=NONE)
    if "revision" in one:
        return Revision(number(one, "revision"), cause, mapping(one, "data", "spec", "template"))
    template = mapping(one, "spec", "template")
    labels = {key: value for key, value in mapping(template, "metadata", "labels").items() if key != _HASH}
    told = text(one, "metadata", "annotations", _NUMBER)
    plain = template | {"metadata": mapping(template, "metadata") | {"labels": labels}}
    return Revision(int(told) if told.isdecimal() else 0, cause, plain)


def document(item: Json, found: list[Revision]) -> Json:
    """The templates of a workload for programs."""
    told = [
        {"revision": one.number, "changeCause": None if one.cause == NONE else one.cause, "template": one.template}
        for one in found
    ]
    return {"name": name_of(item), "namespace": namespace_of(item), "revisions": told}


def chosen(found: list[Revision], wanted: int, who: str) -> Revision:
    """The revision of a number, or the one before the last."""
    if wanted:
        for one in found:
            if one.number == wanted:
                return one
        there = ", ".join(str(one.number) for one in found) or "none"
        raise Complaint(f"{who} has no revision {wanted}; there is {there}")
    if len(found) < 2:
        raise Complaint(f"{who} has no earlier template to go back to")
    return found[-2]
