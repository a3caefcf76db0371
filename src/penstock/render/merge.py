"""Merging what people write onto what we make, by Kubernetes' own strategic-merge keys.

Whatever a person states wins, also `false`, `0`, `""` and `[]` (Slinky drops those, so `privileged: false` could
never be said), and `null` takes our value away. Three things differ from a plain merge: `args` are appended, of
things that exclude each other (probe handlers, volume sources, ways to give a variable its value) only the
person's stays, and objects in lists find each other by key instead of position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.api.objects import Json

_LIST_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ports": ("name", "containerPort", "port"),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_HANDLERS = frozenset({"exec", "grpc", "httpGet", "sleep", "tcpSocket"})
_EXCLUSIVE: dict[str, frozenset[str]] = {
    "livenessProbe": _HANDLERS,
    "readinessProbe": _HANDLERS,
    "startupProbe": _HANDLERS,
    "postStart": _HANDLERS,
    "preStop": _HANDLERS,
    "env": frozenset({"value", "valueFrom"}),
}


def merge(ours: Json, theirs: Json, *, field: str = "") -> Json:
    """Their object onto ours; `field` is the name it stands under, which decides what excludes what."""
    if field == "volumes":  # a volume has one source: theirs replaces ours whole
        return dict(theirs)
    merged = {key: value for key, value in ours.items() if key not in _displaced(field, theirs)}
    for key, value in theirs.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged_value(key, merged.get(key), value)
    return merged


def _displaced(field: str, theirs: Json) -> frozenset[str]:
    exclusive = _EXCLUSIVE.get(field, frozenset())
    return exclusive if exclusive & theirs.keys() else frozenset()


def _merged_value(key: str, ours: Any, theirs: Any) -> Any:
    if key == "args" and isinstance(ours, list) and isinstance(theirs, list):
        return [*ours, *theirs]
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return merge(ours, theirs, field=key)
    if isinstance(ours, list) and isinstance(theirs, list) and key in _LIST_KEYS:
        return _merged_list(key, ours, theirs)
    return theirs


def _merged_list(key: str, ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    if not theirs:
        return []
    merged = list(ours)
    for item in theirs:
        index = _partner(merged, item, _LIST_KEYS[key])
        if index is None:
            merged.append(item)
        else:
            merged[index] = merge(merged[index], item, field=key)
    return merged


def _partner(items: Sequence[Any], item: Any, keys: Sequence[str]) -> int | None:
    """The place of the object that `item` speaks of: the first of the keys that both have decides."""
    for key in keys:
        if not isinstance(item, dict) or item.get(key) is None:
            continue
        for index, other in enumerate(items):
            if isinstance(other, dict) and other.get(key) == item[key]:
                return index
    return None
