"""Which pod and which container a command means: a pod itself, or one of those of a NodeSet, StatefulSet, Service."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.api.objects import Json
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.fields import condition, items, mapping, name_of, namespace_of, text
from penstock.cli.objects.selecting import Where, everything, fetch, label, target
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry

_DEFAULT = "kubectl.kubernetes.io/default-container"
_OWNERS = {"controllers", "restapis", "accountings", "loginsets"}
"""Kinds of ours that have their pods through a workload."""


@dataclass(frozen=True, slots=True)
class Place:
    """A container of a pod."""

    pod: str
    namespace: str
    container: str


async def pods_of(session: Session, words: Sequence[str]) -> list[Json]:
    """The pods that are meant, the ones to prefer first; `Complaint` when there is none."""
    meant = await target(session, words, otherwise="pods")
    item = await fetch(session, meant.entry, meant.names[0])
    if meant.entry.name == "pods":
        return [item]
    pods = await _owned(session, meant.entry, item)
    if not pods:
        raise Complaint(f"{label(meant.entry, name_of(item))} has no pods now; `penstock describe` may tell why")
    return pods


async def _owned(session: Session, entry: Entry, item: Json) -> list[Json]:
    labels = selector_of(item)
    pods = await session.kinds.find("pods")
    if labels:
        found = (await everything(session, pods, Where(labels=labels))).items
    elif entry.plural in _OWNERS:
        found = await _through_a_workload(session, pods, text(item, "metadata", "uid"))
    else:
        raise Complaint(f"{label(entry, name_of(item))} has no pods; name a pod, or what makes pods")
    return sorted(found, key=_preference)


async def _through_a_workload(session: Session, pods: Entry, uid: str) -> list[Json]:
    found: list[Json] = []
    for kind in ("statefulsets", "deployments"):
        for workload in (await everything(session, await session.kinds.find(kind))).items:
            if any(text(one, "uid") == uid for one in items(workload, "metadata", "ownerReferences")):
                found += (await everything(session, pods, Where(labels=selector_of(workload)))).items
    return found


def selector_of(item: Json) -> str:
    """The label selector of the pods of an object; empty when it has none."""
    if said := text(item, "status", "selector"):
        return said
    chosen = mapping(item, "spec", "selector")
    return ",".join(f"{key}={value}" for key, value in (mapping(chosen, "matchLabels") or chosen).items())


def _preference(pod: Json) -> tuple[bool, bool, str]:
    """Ready ones first, then running ones, then by name."""
    ready = text(condition(pod, "Ready"), "status") == "True"
    return not ready, text(pod, "status", "phase") != "Running", name_of(pod)


def container_names(pod: Json, *, init: bool = True) -> list[str]:
    """The containers of a pod, init containers first."""
    lists = ("initContainers", "containers") if init else ("containers",)
    return [text(one, "name") for key in lists for one in items(pod, "spec", key)]


def place(pod: Json, asked: str | None, *, quiet: bool = False) -> Place:
    """The container that is meant: the one asked for, the pod's default, or its first; the last is told."""
    known, main = container_names(pod), container_names(pod, init=False)
    if asked and asked not in known:
        raise Complaint(f"pod {name_of(pod)} has no container {asked!r}; it has {', '.join(known)}")
    default = text(pod, "metadata", "annotations", _DEFAULT)
    chosen = asked or (default if default in known else "") or (main[0] if main else "")
    if not asked and not default and len(known) > 1 and not quiet:
        sys.stderr.write(f'Defaulted container "{chosen}" out of: {", ".join(main + known[: -len(main)])}\n')
    return Place(name_of(pod), namespace_of(pod), chosen)
