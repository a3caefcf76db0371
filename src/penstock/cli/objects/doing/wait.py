"""What `penstock wait` does."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

from penstock.api.objects import Json
from penstock.cli.objects import manifests, watching
from penstock.cli.objects.command import complain
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.fields import name_of, namespace_of
from penstock.cli.objects.printing import single_form
from penstock.cli.objects.selecting import Where, everything, label, missing, targets
from penstock.cli.objects.session import Session
from penstock.cli.objects.waiting import Goal, goal
from penstock.cluster.catalogue import Entry

_WEEK = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class _Awaited:
    entry: Entry
    name: str
    namespace: str

    @property
    def label(self) -> str:
        return label(self.entry, self.name)


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Wait for all objects at once, by watching them; nobody is asked twice."""
    wanted = goal(arguments.what)
    awaited = await _awaited(arguments, session, wanted)
    seconds = _WEEK if arguments.timeout < 0 else arguments.timeout
    results = await asyncio.gather(
        *(_wait(session, one, wanted, seconds, arguments.output) for one in awaited), return_exceptions=True
    )
    for problem in results:
        if isinstance(problem, Complaint) and not isinstance(problem, Misuse):
            complain("wait", str(problem))
        elif isinstance(problem, BaseException):
            raise problem
    return 1 if any(results) else 0


async def _awaited(arguments: argparse.Namespace, session: Session, wanted: Goal) -> list[_Awaited]:
    if bool(arguments.words) == bool(arguments.filename):
        raise Misuse("name objects, or manifests with -f")
    if arguments.filename:
        return [_Awaited(one.entry, one.name, one.namespace) for one in await manifests.read(session, arguments)]
    found: list[_Awaited] = []
    where = Where(labels=arguments.selector, fields=arguments.field_selector, everywhere=arguments.all_namespaces)
    for one in await targets(session, arguments.words):
        found += [_Awaited(one.entry, name, session.namespace) for name in one.names]
        if not one.names:
            if not (arguments.all or where.labels or where.fields):
                raise Misuse(f"{one.entry.plural}: give names, or a selector with -l, or --all")
            items = (await everything(session, one.entry, where)).items
            found += [_Awaited(one.entry, name_of(item), namespace_of(item)) for item in items]
    if not found and not wanted.may_be_missing:
        raise Complaint("nothing fits the selector, so there is nothing to wait for; look with `penstock get`")
    return found


async def _wait(session: Session, one: _Awaited, wanted: Goal, seconds: float, output: str) -> None:
    seen: Json | None = None
    reached = False
    there = replace(session, namespace=one.namespace or session.namespace)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds or None), aclosing(watching.states(there, one.entry, one.name)) as states:
            async for seen in states:
                reached = wanted.holds(seen)
                if reached or not seconds:
                    break
                if seen is None and not wanted.may_be_missing:
                    raise missing(one.entry, one.name, one.namespace if one.entry.namespaced else "")
    if not reached:
        raise Complaint(f"{one.label}: not within {seconds:g} s: {wanted.lacks(seen)}")
    shown = single_form(one.entry, seen, output) if seen is not None else ""
    sys.stdout.write(shown or f"{one.label} condition met\n")
    sys.stdout.flush()
