"""Strategic merge patches: merge patches that know which lists of Kubernetes' own kinds are merged, and by what. Pure.

kubectl computes them for `apply`, `edit`, `label` and more on built-in kinds. Lists are known by the field they stand
in; a list that is not here is replaced whole (Kubernetes 1.36, `patchStrategy` and `patchMergeKey` of its Go types).
"""

from __future__ import annotations

from typing import Any

from penstock.api.objects import Json
from penstock.cluster.errors import Refused

KEYS: dict[str, tuple[str, ...]] = {
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "ports": ("containerPort", "port"),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
"""Lists that are merged, and the field that tells their items apart; of several, the one that the items have."""
_SETS = frozenset({"finalizers", "podCIDRs"})
"""Lists of plain values that are merged."""
_ORDER, _TAKE_OUT, _RETAIN = "$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys"


def strategic_patched(target: Json, patch: Json) -> Json:
    """The target after a strategic merge patch."""
    how = patch.get("$patch")
    if how == "replace":
        return {name: part for name, part in patch.items() if name != "$patch"}
    if how not in (None, "merge"):
        raise Refused(f'"{how}" is not a way to patch a map; known are replace and merge')
    result = dict(target)
    for name, part in patch.items():
        if not name.startswith("$"):
            _merge(result, name, part)
    for name, part in patch.items():
        _direct(result, name, part)
    return result


def _merge(result: Json, name: str, part: Any) -> None:
    before = result.get(name)
    if part is None:
        result.pop(name, None)
    elif isinstance(part, dict):
        if part.get("$patch") == "delete":
            result.pop(name, None)
        else:
            result[name] = strategic_patched(before if isinstance(before, dict) else {}, part)
    elif isinstance(part, list):
        result[name] = _merged_list(name, before if isinstance(before, list) else [], part)
    else:
        result[name] = part


def _direct(result: Json, name: str, part: Any) -> None:
    """Follow a directive: it speaks of a list beside it, or of the map it stands in."""
    if not name.startswith("$") or name == "$patch":
        return
    if not isinstance(part, list):
        raise Refused(f"{name} of a strategic merge patch is a list")
    if name == _RETAIN:
        for other in [other for other in result if other not in part]:
            del result[other]
    elif name.startswith(_TAKE_OUT):
        listed = name.removeprefix(_TAKE_OUT)
        result[listed] = [item for item in result.get(listed) or () if item not in part]
    elif name.startswith(_ORDER):
        listed = name.removeprefix(_ORDER)
        if isinstance(result.get(listed), list):
            result[listed] = _ordered(listed, result[listed], part)


def _merged_list(name: str, before: list[Any], patch: list[Any]) -> list[Any]:
    if name in _SETS:
        return [*before, *(item for item in patch if item not in before)]
    key = _key(name, patch)
    if key is None or {"$patch": "replace"} in patch:
        return [item for item in patch if item != {"$patch": "replace"}]
    items = {item[key]: item for item in before if isinstance(item, dict) and isinstance(item.get(key), (str, int))}
    for item in patch:
        if item.get("$patch") == "delete":
            items.pop(item[key], None)
        else:
            items[item[key]] = strategic_patched(items.get(item[key], {}), item)
    return list(items.values())


def _key(name: str, items: list[Any]) -> str | None:
    """The field by which items of a list are told apart; None for a list that is replaced whole."""
    real = [item for item in items if item != {"$patch": "replace"}]
    for key in KEYS.get(name, ()):
        if all(isinstance(item, dict) and isinstance(item.get(key), (str, int)) for item in real):
            return key
    if name in KEYS and real:
        raise Refused(f"map: {name}: items of this list need {' or '.join(KEYS[name])} to be merged by")
    return None


def _ordered(name: str, items: list[Any], order: list[Any]) -> list[Any]:
    """Items in the order asked for; those that nobody asked about keep their place behind them."""
    key = None if name in _SETS else _key(name, order)

    def named(item: Any) -> str:
        return repr(item.get(key) if key is not None and isinstance(item, dict) else item)

    places = {named(item): place for place, item in enumerate(order)}
    return sorted(items, key=lambda item: places.get(named(item), len(places)))
