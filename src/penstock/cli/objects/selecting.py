"""From words of a command line to objects of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from penstock.api.objects import Json
from penstock.cli.objects import grammar
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.fields import at, name_of
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry
from penstock.cluster.errors import NotFound
from penstock.cluster.pages import pages
from penstock.cluster.port import Selection
from penstock.cluster.resources import Resource


@dataclass(frozen=True, slots=True)
class Target:
    """Objects of one kind: those with these names, or all."""

    entry: Entry
    names: tuple[str, ...] = ()
    namespace: str = ""
    """Where a manifest says it is; empty: in the one that is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which of all objects of a kind are meant."""

    labels: str = ""
    fields: str = ""
    everywhere: bool = False
    """In all namespaces."""


ANY = Where()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Objects of one kind at one moment."""

    entry: Entry
    items: list[Json]
    resource_version: str = ""
    """Watch from here to miss nothing; empty when single objects were asked for."""


def whole(entry: Entry) -> Resource[Any]:
    """The resource of a kind, read with all its fields."""
    return entry.reading(cast(Any, dict))


def label(entry: Entry, name: str = "") -> str:
    """What kubectl calls an object: `nodeset.slinky.slurm.net/compute`."""
    kind = f"{entry.singular}.{entry.group}" if entry.group else entry.singular
    return f"{kind}/{name}" if name else kind


def place(session: Session, entry: Entry) -> str:
    """The namespace that an object of this kind is looked for in; empty for kinds of the whole cluster."""
    return session.namespace if entry.namespaced else ""


async def targets(session: Session, words: Sequence[str]) -> list[Target]:
    """What the words mean on this cluster; a category such as `all` is each of its kinds."""
    found: list[Target] = []
    for named in grammar.split(words):
        category = await session.kinds.category(named.kind)
        if category and named.names:
            raise Misuse(f"{named.kind} is many kinds; name one of them with {named.names[0]}")
        found += [Target(entry) for entry in category] or [Target(await session.kinds.find(named.kind), named.names)]
    return found


async def target(session: Session, words: Sequence[str], *, otherwise: str = "") -> Target:
    """A single object; a bare name is one of the kind `otherwise`."""
    named = grammar.one(words, otherwise=otherwise)
    return Target(await session.kinds.find(named.kind), named.names)


async def fetch(session: Session, entry: Entry, name: str, namespace: str = "") -> Json:
    """One object; `Complaint` says where it was looked for."""
    inside = (namespace or session.namespace) if entry.namespaced else ""
    try:
        found = cast(Json, await session.cluster.get(whole(entry), name, inside))
    except NotFound:
        raise missing(entry, name, inside) from None
    return typed(entry, found)


def missing(entry: Entry, name: str, namespace: str) -> Complaint:
    """The complaint about an object that is not there."""
    inside, option = (f' in namespace "{namespace}"', f" -n {namespace}") if namespace else ("", "")
    hint = f"`penstock get {entry.plural}{option}` shows those that are"
    return Complaint(f'{label(entry)} "{name}" not found{inside}; {hint}')


async def everything(session: Session, entry: Entry, where: Where = ANY) -> Found:
    """All objects of a kind that fit."""
    items: list[Json] = []
    version = ""
    try:
        async with aclosing(pages(session.cluster, whole(entry), selection(session, entry, where))) as listing:
            async for page in listing:
                items += [typed(entry, item) for item in page.items]
                version = page.resource_version
    except NotFound:
        raise Complaint(
            f"{session.title} serves no {entry.name}; `penstock api-resources` shows what it serves"
        ) from None
    return Found(entry=entry, items=items, resource_version=version)


def selection(session: Session, entry: Entry, where: Where) -> Selection:
    """The same as the cluster is asked for it."""
    namespace = None if where.everywhere or not entry.namespaced else session.namespace
    return Selection(namespace=namespace, labels=where.labels, fields=where.fields)


def typed(entry: Entry, item: Json) -> Json:
    """An object that says what it is; those of a listing do not."""
    return item if at(item, "kind") else {"apiVersion": entry.api_version, "kind": entry.kind} | item


async def gather(session: Session, words: Sequence[str], where: Where = ANY) -> list[Found]:
    """The objects that words mean; the first that is missing is complained of."""
    found = []
    for one in await targets(session, words):
        if not one.names:
            found.append(await everything(session, one.entry, where))
            continue
        if where.labels or where.fields or where.everywhere:
            raise Misuse(f"{name_list(one)}: names and selectors do not go together; give one of them")
        items = [await fetch(session, one.entry, name) for name in one.names]
        found.append(Found(entry=one.entry, items=items))
    return found


def name_list(one: Target) -> str:
    """The names of a target for a message."""
    return ", ".join(one.names)


def names(found: Found) -> list[str]:
    """The names of what was found."""
    return [name_of(item) for item in found.items]
