"""Deleting objects, and waiting until they are gone."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from penstock.api.deletion import ends_jobs, refusal
from penstock.api.objects import Json
from penstock.cli.objects import manifests, watching
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.fields import items, name_of, namespace_of, text
from penstock.cli.objects.selecting import Target, Where, everything, fetch, label, targets, whole
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry
from penstock.cluster.errors import NotFound
from penstock.cluster.port import Preconditions, Propagation

_SILENCE = 3.0
"""Seconds of waiting after which a person is told for what."""


@dataclass(frozen=True, slots=True)
class Doomed:
    """An object that is to go."""

    entry: Entry
    item: Json

    @property
    def label(self) -> str:
        """What messages call it."""
        return label(self.entry, name_of(self.item))

    def told(self, dry_run: str) -> str:
        """The line that says it was deleted."""
        inside = f" from {namespace_of(self.item)} namespace" if namespace_of(self.item) else ""
        return (
            f'{label(self.entry)} "{name_of(self.item)}" deleted{inside}{"" if dry_run == "none" else " (dry run)"}\n'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How to delete."""

    propagation: Propagation = Propagation.BACKGROUND
    grace_seconds: int | None = None


def manner_of(arguments: argparse.Namespace) -> Manner:
    """How the command line wants it."""
    grace = 1 if arguments.now else arguments.grace_period
    if arguments.force and grace is None:
        grace = 0
    if grace == 0 and not arguments.force:
        raise Misuse("--grace-period=0 takes a pod's name away while it may still run; add --force if you mean it")
    return Manner(propagation=Propagation(arguments.cascade.capitalize()), grace_seconds=grace)


async def chosen(session: Session, arguments: argparse.Namespace) -> tuple[list[Doomed], list[str]]:
    """The objects that are to go, and what there is to complain of."""
    if bool(arguments.words) == bool(arguments.filename):
        raise Misuse("name objects, or manifests with -f")
    asked = await (_of_files(session, arguments) if arguments.filename else targets(session, arguments.words))
    where = Where(labels=arguments.selector, fields=arguments.field_selector, everywhere=arguments.all_namespaces)
    selects = bool(where.labels or where.fields or arguments.all)
    found: list[Doomed] = []
    complaints: list[str] = []
    for one in asked:
        if bool(one.names) == selects:
            raise Misuse(f"{one.entry.plural}: give names, or a selector with -l, or --all")
        if not one.names:
            found += [Doomed(one.entry, item) for item in (await everything(session, one.entry, where)).items]
        await _by_name(session, one, found, [] if arguments.ignore_not_found else complaints)
    if not found and selects:
        sys.stdout.write("No resources found\n")
    return found, complaints


async def _of_files(session: Session, arguments: argparse.Namespace) -> list[Target]:
    read = await manifests.read(session, arguments)
    return [Target(one.entry, (one.name,), one.namespace) for one in read]


async def _by_name(session: Session, one: Target, found: list[Doomed], complaints: list[str]) -> None:
    for name in one.names:
        try:
            found.append(Doomed(one.entry, await fetch(session, one.entry, name, one.namespace)))
        except Complaint as complaint:
            complaints.append(str(complaint))


def spare_jobs(doomed: Sequence[Doomed], manner: Manner) -> None:
    """`Complaint` when jobs would end by this: then nothing is deleted at all, whatever else was named."""
    for one in doomed:
        if ends_jobs(one.entry.name, manner.propagation.value):
            raise Complaint(refusal(name_of(one.item), namespace_of(one.item), command="penstock"))


async def delete(session: Session, one: Doomed, manner: Manner) -> None:
    """Delete this object, and not a new one of its name."""
    await session.cluster.delete(
        whole(one.entry),
        name_of(one.item),
        namespace=namespace_of(one.item),
        only_if=Preconditions(uid=text(one.item, "metadata", "uid") or None),
        propagation=manner.propagation,
        grace_seconds=manner.grace_seconds,
    )


async def gone(session: Session, one: Doomed, *, within: float | None) -> None:
    """Wait until this object is gone; `Complaint` tells what holds it when it takes too long."""
    seen, uid = one.item, text(one.item, "metadata", "uid")
    there = replace(session, namespace=namespace_of(one.item) or session.namespace)
    teller = asyncio.create_task(_tell_later(lambda: _waiting(one, seen)))
    try:
        async with asyncio.timeout(within):
            async with aclosing(watching.states(there, one.entry, name_of(one.item))) as states:
                async for state in states:
                    if state is None or text(state, "metadata", "uid") != uid:
                        return
                    seen = state
    except TimeoutError:
        raise Complaint(f"{_waiting(one, seen)}; it goes once nothing holds it") from None
    except NotFound:
        return
    finally:
        teller.cancel()


def _waiting(one: Doomed, seen: Json) -> str:
    held = ", ".join(map(str, items(seen, "metadata", "finalizers")))
    until = text(seen, "metadata", "deletionTimestamp")
    why = f"held by {held}" if held else f"its containers have until {until}" if until else "it is being deleted"
    return f"{one.label} is still there: {why}"


async def _tell_later(sentence: Callable[[], str]) -> None:
    await asyncio.sleep(_SILENCE)
    if sys.stderr.isatty():
        sys.stderr.write(f"{sentence()}; waiting (Ctrl-C leaves it to itself)\n")
