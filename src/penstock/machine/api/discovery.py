"""What this server serves, told in the forms that kubectl asks for.

Of OpenAPI there is just enough to make kubectl leave the validation of objects to us.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from penstock.api.crd import object_schema
from penstock.api.kinds import GROUP, KINDS, KindInfo
from penstock.api.kinds import VERSION as VERSION_OF_OURS
from penstock.api.objects import Json
from penstock.cluster.catalogue import ENTRIES, Entry
from penstock.machine.api.address import Group, nothing_there

_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
_POD_DOORS = {
    "exec": ("PodExecOptions", "create"),
    "log": ("Pod", "get"),
    "portforward": ("PodPortForwardOptions", "create"),
}
VERSION: Json = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0+penstock",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
"""The release of Kubernetes whose semantics the store has."""
CORE_VERSIONS: Json = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


@cache
def groups() -> Json:
    """All named groups."""
    named = dict.fromkeys(entry.group for entry in ENTRIES if entry.group)
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group(name) for name in named]}


@cache
def group(name: str) -> Json:
    """A group and the one version of it that is served."""
    versions = [entry.version for entry in ENTRIES if entry.group == name]
    if not name or not versions:
        raise nothing_there()
    only = {"groupVersion": f"{name}/{versions[0]}", "version": versions[0]}
    return {"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": [only], "preferredVersion": only}


@cache
def resources(asked: Group) -> Json:
    """The resources of a group in a version."""
    entries = _in(asked)
    listed = [row for entry in entries for row in _rows(entry)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": entries[0].api_version,
        "resources": listed,
    }


def _in(asked: Group) -> list[Entry]:
    entries = [entry for entry in ENTRIES if (entry.group, entry.version) == (asked.group, asked.version)]
    if not entries:
        raise nothing_there()
    return entries


def _rows(entry: Entry) -> Iterator[Json]:
    """A resource and its side doors."""
    plain = {"singularName": "", "namespaced": entry.namespaced, "kind": entry.kind}
    named = {"shortNames": list(entry.short_names)} if entry.short_names else {}
    named |= {"categories": list(entry.categories)} if entry.categories else {}
    yield {**plain, "name": entry.plural, "singularName": entry.singular, "verbs": _VERBS, **named}
    changing = ["get", "patch", "update"]
    if entry.has_status:
        yield {**plain, "name": f"{entry.plural}/status", "verbs": changing}
    if entry.has_scale:
        scale = {"kind": "Scale", "group": "autoscaling", "version": "v1"}
        yield {**plain, **scale, "name": f"{entry.plural}/scale", "verbs": changing}
    if entry.name == "pods":
        yield from (
            {**plain, "name": f"pods/{door}", "kind": kind, "verbs": [verb]}
            for door, (kind, verb) in _POD_DOORS.items()
        )
        policy = {"kind": "Eviction", "group": "policy", "version": "v1"}
        yield {**plain, **policy, "name": "pods/eviction", "verbs": ["create"]}


@cache
def openapi_index() -> Json:
    """Where the OpenAPI document of each group is."""
    names = dict.fromkeys(_openapi_name(entry) for entry in ENTRIES)
    return {"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash=penstock"} for name in names}}


@cache
def openapi(asked: Group) -> Json:
    """As much of OpenAPI as it takes: kubectl looks whether we check fields ourselves, and explains our own kinds."""
    entries = _in(asked)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Penstock", "version": VERSION["gitVersion"]},
        "paths": {_openapi_path(entry): _openapi_operations(entry) for entry in entries},
        "components": {"schemas": dict(map(_schema, KINDS if asked.group == GROUP else ()))},
    }


def _schema(info: KindInfo) -> tuple[str, Json]:
    identity = {"group": GROUP, "kind": info.kind, "version": VERSION_OF_OURS}
    return f"{GROUP}.{info.kind}", {**object_schema(info), "x-kubernetes-group-version-kind": [identity]}


def _openapi_name(entry: Entry) -> str:
    return f"apis/{entry.api_version}" if entry.group else f"api/{entry.version}"


def _openapi_path(entry: Entry) -> str:
    middle = "namespaces/{namespace}/" if entry.namespaced else ""
    return f"/{_openapi_name(entry)}/{middle}{entry.plural}/{{name}}"


def _openapi_operations(entry: Entry) -> Json:
    query = {"in": "query", "schema": {"type": "string", "uniqueItems": True}}
    return {
        "patch": {
            "parameters": [{**query, "name": name} for name in ("dryRun", "fieldManager", "fieldValidation", "force")],
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": {"group": entry.group, "kind": entry.kind, "version": entry.version},
        }
    }
