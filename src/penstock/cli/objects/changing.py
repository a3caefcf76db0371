"""Writing what people wrote: apply, create, replace; and what came of it in one word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from penstock.api.objects import Json
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.fields import at, text
from penstock.cli.objects.manifests import Manifest
from penstock.cli.objects.selecting import typed, whole
from penstock.cli.objects.session import MANAGER, Session
from penstock.cluster.errors import AlreadyExists, Conflict, NotFound

_CONFLICT = re.compile(r'conflicts? with "(?P<manager>[^"]*)"[^:]*:(?P<fields>.*?)(?=conflicts? with "|$)', re.DOTALL)
_HANDS = re.compile(r"kubectl(-.*)?|penstock-cli|Mozilla")
"""Managers that are a person with another tool: who says something new takes it back from them."""
_SIZES = {".spec.replicas"}
"""Fields that `penstock scale` sets under the port's own name."""
_PRINTED_DRY = {"none": "", "client": " (dry run)", "server": " (server dry run)"}


async def before(session: Session, one: Manifest) -> Json | None:
    """The object as it is now; None when there is none."""
    try:
        return cast(Json, await session.cluster.get(whole(one.entry), one.name, one.namespace))
    except NotFound:
        return None


async def apply(session: Session, one: Manifest, *, force: bool, dry_run: str) -> tuple[Json, str]:
    """Server-side apply: the object, and what became of it: created, configured or unchanged."""
    old = await before(session, one)
    if dry_run == "client":
        return typed(one.entry, old or one.body), _word(old, None)
    new = await _applied(session, one, force=force, dry_run=dry_run == "server")
    return typed(one.entry, new), _word(old, new)


def outcome(one: Manifest, word: str, dry_run: str = "none") -> str:
    """A line for the terminal: `nodeset.slinky.slurm.net/compute created`."""
    return f"{one.label} {word}{_PRINTED_DRY[dry_run]}\n"


async def _applied(session: Session, one: Manifest, *, force: bool, dry_run: bool) -> Json:
    resource, send = whole(one.entry), session.cluster.apply
    try:
        return cast(Json, await send(resource, one.body, manager=MANAGER, force=force, dry_run=dry_run))
    except NotFound as problem:
        raise _no_namespace(one, problem) from None
    except Conflict as problem:
        owners = list(owned_by_others(str(problem)))
        if not owners or not all(_is_a_hand(manager, field) for manager, field in owners):
            raise Complaint(_explained(one, owners, str(problem))) from None
    return cast(Json, await send(resource, one.body, manager=MANAGER, force=True, dry_run=dry_run))


def owned_by_others(message: str) -> Iterator[tuple[str, str]]:
    """Managers and their fields, as an API server tells of conflicts."""
    for found in _CONFLICT.finditer(message):
        fields = [word.strip("- ,") for word in found["fields"].split("\n")]
        for field in (word for word in fields if word.startswith(".")):
            yield found["manager"], field


def _is_a_hand(manager: str, field: str) -> bool:
    return bool(_HANDS.fullmatch(manager)) or (manager == "penstock" and field in _SIZES)


def _explained(one: Manifest, owners: list[tuple[str, str]], message: str) -> str:
    fields = "; ".join(f'{field} belongs to "{manager}"' for manager, field in owners) or message
    return f"{one.origin}: {one.label}: {fields}; leave it out of the manifest, or take it over with --force-conflicts"


def _no_namespace(one: Manifest, problem: NotFound) -> Complaint:
    if one.namespace and "namespace" in str(problem):
        return Complaint(
            f"{one.label}: there is no namespace {one.namespace}; penstock create namespace {one.namespace}"
        )
    return Complaint(f"{one.origin}: {one.label}: {problem}")


def _word(old: Json | None, new: Json | None) -> str:
    if old is None:
        return "created"
    versions = [text(thing, "metadata", "resourceVersion") for thing in (old, new)]
    return "unchanged" if versions[0] == versions[1] else "configured"


async def create(session: Session, one: Manifest, *, dry_run: str) -> Json:
    """Make an object that is not there yet."""
    if dry_run == "client":
        return typed(one.entry, one.body)
    try:
        made = await session.cluster.create(whole(one.entry), one.body, manager=MANAGER, dry_run=dry_run == "server")
    except AlreadyExists:
        raise Complaint(f"{one.label} exists already; change it with `penstock apply`") from None
    except NotFound as problem:
        raise _no_namespace(one, problem) from None
    return typed(one.entry, cast(Json, made))


async def replace(session: Session, one: Manifest, *, dry_run: str) -> Json:
    """Make an object exactly so: what the manifest does not say goes away, except what only the server writes."""
    old = await before(session, one)
    if old is None:
        raise Complaint(f"{one.label} is not there; make it with `penstock create -f`")
    if dry_run != "none":
        return typed(one.entry, one.body)
    from penstock.cli.objects.patches import difference  # noqa: PLC0415

    patch = difference(_own(old), _own(one.body))
    if at(one.body, "metadata", "resourceVersion"):
        patch["metadata"] = patch.get("metadata", {}) | {"resourceVersion": one.body["metadata"]["resourceVersion"]}
    made = await session.cluster.patch(whole(one.entry), one.name, patch, namespace=one.namespace, manager=MANAGER)
    return typed(one.entry, cast(Json, made))


def _own(thing: Json) -> Json:
    """The part of an object that people write."""
    kept = {key: thing["metadata"][key] for key in ("labels", "annotations", "finalizers") if key in thing["metadata"]}
    plain = {key: value for key, value in thing.items() if key not in {"apiVersion", "kind", "metadata", "status"}}
    if plain.get("stringData"):
        plain["data"] = plain.get("data", {}) | _encoded(plain.pop("stringData"))
    return plain | {"metadata": kept}


def _encoded(texts: Json) -> Json:
    import base64  # noqa: PLC0415  (only Secrets)

    return {key: base64.b64encode(str(value).encode()).decode() for key, value in texts.items()}
