"""What becomes of a body on its way in: which object it speaks of, what each door lets through, what is refused."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import msgspec

from penstock.api.objects import Json
from penstock.cluster.errors import Conflict, Refused
from penstock.cluster.resources import Resource
from penstock.cluster.store import builtin, names, structure
from penstock.cluster.store.records import KeptMeta, Key, Record
from penstock.cluster.store.traits import Traits

_SYSTEM = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)
"""Metadata that only the server writes, once the object is there."""


def identified(resource: Resource[Any], body: Json) -> Json:
    """A copy of a body that says what it is; `Refused` when it says that it is something else."""
    said = (body.get("apiVersion", resource.api_version), body.get("kind", resource.kind))
    if said != (resource.api_version, resource.kind):
        raise Refused(
            f"invalid object type: {said[0]}, Kind={said[1]}; expected {resource.api_version}, {resource.kind}"
        )
    metadata = {name: part for name, part in (body.get("metadata") or {}).items() if part is not None}
    if bool(metadata.get("namespace")) != resource.namespaced:
        raise Refused("the namespace of the provided object does not match the namespace sent on the request")
    copied = {**body, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return _encoded(copied) if resource.name == "secrets" else copied


def _encoded(secret: Json) -> Json:
    """A Secret without the field that is only for writing."""
    plain: Json = secret.pop("stringData", None) or {}
    encoded = {name: base64.b64encode(str(text).encode()).decode() for name, text in plain.items()}
    return secret | ({"data": {**(secret.get("data") or {}), **encoded}} if encoded else {})


def key_of(resource: Resource[Any], metadata: Json) -> Key:
    """The key of the object that metadata names."""
    return Key(resource.name, metadata.get("namespace", ""), metadata.get("name", ""))


def newborn(body: Json, traits: Traits, *, uid: str, now: str) -> Json:
    """A body as an object that has just come to be: its status is not the creator's to say."""
    asked = {name: part for name, part in body["metadata"].items() if name not in _SYSTEM[2:]}
    if not asked.get("name"):
        asked["name"] = names.generated(asked["generateName"], uid) if asked.get("generateName") else ""
    generation = {"generation": 1} if traits.has_generation else {}
    born = {**body, "metadata": {**asked, "uid": uid, **generation, "creationTimestamp": now}}
    if traits.has_status:
        born.pop("status", None)
        born |= {"status": traits.status_at_birth} if traits.status_at_birth else {}
    return _tidied(born, traits)


def same_object(live: Record, metadata: Json) -> None:
    """Refuse a change whose metadata speaks of another object, or of a version that is no longer current."""
    version, name, uid = (metadata.get(field) for field in ("resourceVersion", "name", "uid"))
    if version not in {None, "", live.meta.resource_version}:
        raise Conflict(
            f"Operation cannot be fulfilled on {live.key}: the object has been modified; "
            "please apply your changes to the latest version and try again"
        )
    if name not in {None, "", live.meta.name}:
        raise Refused(f"the name of the object ({name}) does not match the name on the URL ({live.meta.name})")
    for field, told, true in (
        ("uid", uid, live.meta.uid),
        ("deletionTimestamp", metadata.get("deletionTimestamp"), live.meta.deletion_timestamp),
    ):
        if told not in {None, "", true}:
            raise Refused(f'{live.key} is invalid: metadata.{field}: Invalid value: "{told}": field is immutable')


def let_through(live: Json, wanted: Json, traits: Traits, *, door: str) -> Json:
    """The live object with that part of a change which its door lets through."""
    if door == "status":
        new = {**live, "status": wanted.get("status")}
    else:
        new = {**wanted, "apiVersion": live["apiVersion"], "kind": live["kind"]}
        new["metadata"] = _with_system_fields(wanted.get("metadata") or {}, live["metadata"])
        new |= {"status": live.get("status")} if traits.has_status else {}
    if (live["apiVersion"], live["kind"]) == ("v1", "Secret"):
        new = _encoded(new)
    return _tidied(new, traits, live)


def _tidied(body: Json, traits: Traits, before: Json | None = None) -> Json:
    """The object in the form it is kept in."""
    if traits.definition is None:
        tidy: Json = structure.tidied(traits.shape, body, before)
        return tidy
    known = {name: part for name, part in body.items() if part is not None}
    metadata = structure.tidied(builtin.METADATA, body["metadata"], before and before["metadata"])
    return traits.definition.conformed(known | {"metadata": metadata}, before)


def _with_system_fields(wanted: Json, live: Json) -> Json:
    fixed = {name: live[name] for name in _SYSTEM if name in live}
    return {name: part for name, part in wanted.items() if name not in _SYSTEM} | fixed


def next_generation(live: Json, new: Json) -> int:
    """The generation after a change: it counts what is asked of an object, not what is known about it."""
    generation: int = live["metadata"]["generation"]
    apart = {"metadata", "status"}
    before, after = ({name: part for name, part in body.items() if name not in apart} for body in (live, new))
    return generation if before == after else generation + 1


def check(key: Key, traits: Traits, new: Json, old: Json | None) -> KeptMeta:
    """Refuse an object that is wrong, with every reason; else its metadata."""
    meta = _read_metadata(key, new["metadata"])
    found = list(names.problems(meta, resource=key.resource, custom=traits.definition is not None))
    found += _late_finalizers(meta, old)
    found += _thawed(builtin.FROZEN.get(key.resource), new, old)
    if traits.definition is not None:
        found += map(str, traits.definition.problems(new, old))
    if found:
        raise Refused(f'{_kind(new)} "{meta.name}" is invalid: {_listed(found)}')
    return meta


def _read_metadata(key: Key, metadata: Json) -> KeptMeta:
    try:
        return msgspec.convert(metadata, KeptMeta)
    except msgspec.ValidationError as problem:
        raise Refused(f"{key} cannot be read: metadata: {problem}") from problem


def _late_finalizers(meta: KeptMeta, old: Json | None) -> Iterable[str]:
    if old is None or "deletionTimestamp" not in old["metadata"]:
        return
    late = [name for name in meta.finalizers if name not in old["metadata"].get("finalizers", ())]
    if late:
        quoted = ", ".join(f'"{name}"' for name in late)
        told = "no new finalizers can be added if the object is being deleted, found new finalizers"
        yield f"metadata.finalizers: Forbidden: {told} []string{{{quoted}}}"


def _thawed(frozen: str | None, new: Json, old: Json | None) -> Iterable[str]:
    if frozen is not None and old is not None and new.get(frozen) != old.get(frozen):
        told = msgspec.json.encode(new.get(frozen)).decode()
        yield f"{frozen}: Invalid value: {told}: field is immutable"


def _kind(body: Json) -> str:
    group, slash, _ = str(body["apiVersion"]).partition("/")
    return f"{body['kind']}.{group}" if slash else str(body["kind"])


def _listed(problems: list[str]) -> str:
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
