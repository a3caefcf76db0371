"""What `penstock rollout` does."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from penstock.api.objects import Json
from penstock.cli.objects import nodeset_rollout, revisions, rollouts, watching
from penstock.cli.objects.command import one_by_one
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.fields import at, mapping, name_of
from penstock.cli.objects.modifying import send
from penstock.cli.objects.patches import difference
from penstock.cli.objects.printing import as_json, as_yaml, single_form
from penstock.cli.objects.selecting import gather, label, targets
from penstock.cli.objects.session import Session
from penstock.cli.objects.table import Table
from penstock.cli.objects.worker_revisions import NODE_SETS
from penstock.cluster.catalogue import Entry

_RESTARTED = "kubectl.kubernetes.io/restartedAt"
_ROLLS = {"statefulsets.apps", "deployments.apps", "daemonsets.apps"}
_OURS = {f"{plural}.slinky.slurm.net" for plural in ("controllers", "loginsets", "nodesets", "restapis", "accountings")}
_DESCRIBE = "`penstock describe` may tell"

Verb = Callable[[argparse.Namespace, Session, Entry, Json], Awaitable[None]]


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Do what the first word says to each object."""
    if any(not one.names for one in await targets(session, arguments.words)):
        raise Misuse(f"name what to {arguments.verb}: TYPE/NAME, for instance deploy/slurm-login")
    verb = _VERBS[arguments.verb]
    for_node_sets = _OF_NODE_SETS.get(arguments.verb, verb)

    async def act(one: tuple[Entry, Json]) -> None:
        await (for_node_sets if one[0].name == NODE_SETS else verb)(arguments, session, *one)

    found = await gather(session, arguments.words)
    return await one_by_one("rollout", [(one.entry, item) for one in found for item in one.items], act)


async def _status(arguments: argparse.Namespace, session: Session, entry: Entry, item: Json) -> None:
    told = ""
    who = label(entry, name_of(item))
    try:
        async with (
            asyncio.timeout(arguments.timeout or None),
            aclosing(watching.states(session, entry, name_of(item))) as states,
        ):
            async for state in states:
                if state is None:
                    raise Complaint(f"{who} was deleted meanwhile")
                now = rollouts.progress(entry, state)
                if now.sentence != told:
                    told = now.sentence
                    sys.stdout.write(f"{told}\n")
                    sys.stdout.flush()
                if now.done or not arguments.watch:
                    return
    except TimeoutError:
        knows = f"`penstock plan nodeset/{name_of(item)}` tells" if entry.name == NODE_SETS else _DESCRIBE
        raise Complaint(f"{who}: not done within {arguments.timeout:g} s; {knows} why") from None


async def _restart(arguments: argparse.Namespace, session: Session, entry: Entry, item: Json) -> None:
    who = label(entry, name_of(item))
    if entry.name == NODE_SETS:
        nodeset_rollout.refuse_pinned(entry, item)
    if entry.name not in _ROLLS | _OURS:
        raise Complaint(f"{who}: {entry.plural} cannot be restarted; pods can be deleted")
    if at(item, "spec", "paused"):
        raise Complaint(f"{who} is paused; go on first: penstock rollout resume {entry.singular}/{name_of(item)}")
    stamp = session.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    patch = {"spec": {"template": {"metadata": {"annotations": {_RESTARTED: stamp}}}}}
    after = await send(session, entry, item, patch)
    sys.stdout.write(single_form(entry, after, arguments.output) or f"{who} restarted\n")


async def _history(arguments: argparse.Namespace, session: Session, entry: Entry, item: Json) -> None:
    found, who = await revisions.revisions(session, entry, item), label(entry, name_of(item))
    form = as_json if arguments.output == "json" else as_yaml
    if arguments.revision:
        sys.stdout.write(form(revisions.chosen(found, arguments.revision, who).template))
        return
    if arguments.output:
        sys.stdout.write(form(revisions.document(item, found)))
        return
    sys.stdout.write(f"{who} \n")
    sys.stdout.write(Table(["REVISION", "CHANGE-CAUSE"]).lines([[str(one.number), one.cause] for one in found]) + "\n")


async def _undo(arguments: argparse.Namespace, session: Session, entry: Entry, item: Json) -> None:
    who = label(entry, name_of(item))
    back = revisions.chosen(await revisions.revisions(session, entry, item), arguments.to_revision, who)
    patch = difference(mapping(item, "spec", "template"), back.template)
    if not patch:
        sys.stdout.write(f"{who} skipped rollback (current template already matches revision {back.number})\n")
        return
    after = await send(session, entry, item, {"spec": {"template": patch}})
    sys.stdout.write(single_form(entry, after, arguments.output) or f"{who} rolled back\n")


def _held(paused: bool) -> Verb:
    async def hold(_arguments: argparse.Namespace, session: Session, entry: Entry, item: Json) -> None:
        who = label(entry, name_of(item))
        if entry.name != "deployments.apps":
            raise Complaint(f"{who}: only deployments can be paused")
        if bool(at(item, "spec", "paused")) == paused:
            raise Complaint(f"{who} is {'paused already' if paused else 'not paused'}")
        await send(session, entry, item, {"spec": {"paused": paused or None}})
        sys.stdout.write(f"{who} {'paused' if paused else 'resumed'}\n")

    return hold


_VERBS: dict[str, Verb] = {
    "status": _status,
    "restart": _restart,
    "history": _history,
    "undo": _undo,
    "pause": _held(True),
    "resume": _held(False),
}
_OF_NODE_SETS: dict[str, Verb] = {
    "history": nodeset_rollout.history,
    "undo": nodeset_rollout.undo,
    "pause": nodeset_rollout.hold,
    "resume": nodeset_rollout.hold,
}
