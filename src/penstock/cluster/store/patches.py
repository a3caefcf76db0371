"""JSON merge patch (RFC 7396)."""

from __future__ import annotations

from typing import Any

from penstock.api.objects import Json


def merge_patched(target: Json, patch: Json) -> Json:
    """The target with a patch: null takes a field away, maps are merged, everything else is replaced."""
    result = dict(target)
    for name, part in patch.items():
        if part is None:
            result.pop(name, None)
        else:
            result[name] = _patched(result.get(name), part)
    return result


def _patched(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    return merge_patched(target if isinstance(target, dict) else {}, patch)
