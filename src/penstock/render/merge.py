"""Merging what people write onto what we make, by Kubernetes' own strategic-merge keys.

Whatever a person states wins, also `false`, `0`, `""` and `[]` (Slinky drops those, so `privileged: false` could
never be said), and `null` takes our value away. Three things differ from a plain merge: `args` are appended, of
things that exclude each other (probe handlers, volume sources, ways to give a variable its value) only the
person's stays, and objects in lists find each other by key instead of position.

The result shares nothing with what it was made of: whoever changes a pod changes neither the CR nor our constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.objects import Json
from penstock.slurm.conf import ConfError

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
    merged: Json = _copy(_merged(ours, theirs, field))
    return merged


def _merged(ours: Json, theirs: Json, field: str) -> Json:
    if field == "volumes":  # a volume has one source: theirs replaces ours whole
        return theirs
    displaced = _displaced(field, theirs)
    merged = {key: value for key, value in ours.items() if key not in displaced}
    for key, value in theirs.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged_value(key, merged.get(key), value)
    return merged


def _displaced(field: str, theirs: Json) -> frozenset[str]:
    exclusive = _EXCLUSIVE.get(field, frozenset())
    return exclusive if any(theirs.get(key) is not None for key in exclusive) else frozenset()


def _merged_value(key: str, ours: Any, theirs: Any) -> Any:
    for wanted, name in ((dict, "a map"), (list, "a list")):
        if isinstance(ours, wanted) and not isinstance(theirs, wanted):
            raise ConfError(f"{key} is {theirs!r}, not {name}; write it as Kubernetes' API has it")
    if isinstance(ours, dict):
        return _merged(ours, theirs, key)
    if isinstance(ours, list) and key == "args":
        return [*ours, *theirs]
    if isinstance(ours, list) and key in _LIST_KEYS:
        return _merged_list(key, ours, theirs)
    return theirs


def _merged_list(key: str, ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    if not theirs:
        return []
    merged = list(ours)
    # Only ours can be spoken of: items of a person never meet each other, also when two share a number.
    free = dict(enumerate(ours))
    for item in theirs:
        index = _partner(free, item, _LIST_KEYS[key])
        if index is None:
            merged.append(item)
        else:
            merged[index] = _merged(free.pop(index), item, key)
    return merged


def _partner(items: Mapping[int, Any], item: Any, keys: Sequence[str]) -> int | None:
    """The place of the object that `item` speaks of: the first of the keys that both have decides."""
    for key in keys:
        if not isinstance(item, dict) or item.get(key) is None:
            continue
        for index, other in items.items():
            if isinstance(other, dict) and other.get(key) == item[key]:
                return index
    return None


def _copy(value: Any) -> Any:
    """A copy that shares nothing; a field that says null is as good as not there."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items() if item is not None}
    return [_copy(item) for item in value] if isinstance(value, list) else value
