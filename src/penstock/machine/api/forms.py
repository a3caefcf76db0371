"""Whether a body has the form of its kind, as far as anybody here relies on it. Pure.

An API server reads bodies into Go's types, so a name is a text there before anybody looks at it; the store takes what
it is given. The same forms hold for whole objects and for merge patches, since a null and what is not said pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.api.kinds import GROUP
from penstock.api.objects import Json
from penstock.cluster.catalogue import Entry
from penstock.cluster.errors import Refused
from penstock.machine.api.strategic import KEYS

Texts = dict[str, str | None]
Items = list[Json]


class _Form(msgspec.Struct, rename="camel"):
    """Fields that are told; all others may be anything."""


class _Owner(_Form):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _Metadata(_Form):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    deletion_timestamp: str | None = None
    labels: Texts | None = None
    annotations: Texts | None = None
    finalizers: list[str] | None = None
    owner_references: list[_Owner] | None = None
    managed_fields: Items | None = None


class _Object(_Form):
    api_version: str | None = None
    kind: str | None = None
    metadata: _Metadata | None = None
    spec: Json | None = None
    status: Json | None = None


class _Expression(_Form):
    key: str
    operator: str
    values: list[str] | None = None


class _Selector(_Form):
    match_labels: Texts | None = None
    match_expressions: list[_Expression] | None = None


class _PodSpec(_Form):
    node_name: str | None = None
    termination_grace_period_seconds: int | None = None
    containers: Items | None = None
    init_containers: Items | None = None
    ephemeral_containers: Items | None = None
    volumes: Items | None = None


class _PodStatus(_Form):
    phase: str | None = None
    conditions: Items | None = None


class _Pod(_Object):
    spec: _PodSpec | None = None  # type: ignore[assignment] # a narrower form of the same
    status: _PodStatus | None = None  # type: ignore[assignment]


class _Template(_Form):
    metadata: _Metadata | None = None
    spec: _PodSpec | None = None


class _WorkloadSpec(_Form):
    replicas: int | None = None
    selector: _Selector | None = None
    template: _Template | None = None


class _WorkloadStatus(_Form):
    replicas: int | None = None
    conditions: Items | None = None


class _Workload(_Object):
    spec: _WorkloadSpec | None = None  # type: ignore[assignment]
    status: _WorkloadStatus | None = None  # type: ignore[assignment]


class _BudgetSpec(_Form):
    selector: _Selector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class _Budget(_Object):
    spec: _BudgetSpec | None = None  # type: ignore[assignment]


class _ServiceSpec(_Form):
    selector: Texts | None = None
    ports: Items | None = None
    cluster_ip: str | None = msgspec.field(default=None, name="clusterIP")


class _Service(_Object):
    spec: _ServiceSpec | None = None  # type: ignore[assignment]


class _Texts(_Object):
    data: Texts | None = None
    string_data: Texts | None = None
    binary_data: Texts | None = None


_FORMS: dict[str, type[_Object]] = {
    "configmaps": _Texts,
    "daemonsets.apps": _Workload,
    "deployments.apps": _Workload,
    "jobs.batch": _Workload,
    "poddisruptionbudgets.policy": _Budget,
    "pods": _Pod,
    "replicasets.apps": _Workload,
    "secrets": _Texts,
    "services": _Service,
    "statefulsets.apps": _Workload,
}

_RAW = {"controllerrevisions.apps": "data"}
"""Fields that are somebody else's JSON."""


def check(entry: Entry, body: Json) -> None:
    """Nothing, or `Refused` when the body cannot be one of the kind."""
    try:
        msgspec.convert(body, _FORMS.get(entry.name, _Object))
    except msgspec.ValidationError as problem:
        raise _not_one(entry, str(problem)) from None
    if entry.group != GROUP:
        for name, keys in _without_key({key: part for key, part in body.items() if key != _RAW.get(entry.name)}):
            raise _not_one(entry, f"an item of {name} lacks its {' or '.join(keys)}, or has something else for it")


def _not_one(entry: Entry, why: str) -> Refused:
    kind = f'{entry.kind} in version "{entry.version}"'
    return Refused(f"{kind} cannot be handled as a {entry.kind}: {why}")


def _without_key(value: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Lists whose items are known by a key, where one of them has none that could be one."""
    if isinstance(value, list):
        for item in value:
            yield from _without_key(item)
    if not isinstance(value, dict):
        return
    for name, part in value.items():
        keys = KEYS.get(name, ())
        if keys and isinstance(part, list) and not all(_keyed(item, keys) for item in part):
            yield name, keys
        yield from _without_key(part)


def _keyed(item: Any, keys: tuple[str, ...]) -> bool:
    return isinstance(item, dict) and any(isinstance(item.get(key), (str, int)) for key in keys)
