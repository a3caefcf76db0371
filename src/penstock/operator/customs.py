"""Objects of our kinds: from what the API server holds to the structs that rendering works with.

The API server lets in a few things that Python refuses. Such an object is not used at all, not even in part: whatever
was made of it before stays, and its conditions say what to mend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.api.kinds import API_VERSION, Kind
from penstock.api.objects import Labels
from penstock.api.problems import errors
from penstock.api.validation import examine
from penstock.operator.resources import Custom

Key = tuple[str, str, str]
"""Kind, namespace and name: what the queue works on."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """An object that cannot be used."""

    message: str


@dataclass(frozen=True, slots=True)
class _Decoded:
    item: Custom
    """As it was last seen."""
    of: tuple[int, str | None, Labels, Labels]
    """What of an object's metadata makes another object of it."""
    result: Kind | Invalid


class Decoder:
    """Decodes each object once per edit; status changes do not count as one."""

    def __init__(self) -> None:
        self._known: dict[str, _Decoded] = {}

    def decode(self, kind: str, item: Custom) -> Kind | Invalid:
        """The object as a struct, or what is wrong with it."""
        meta = item.metadata
        known = self._known.get(meta.uid)
        if known is None or known.item is not item:
            now = (meta.generation, meta.deletion_timestamp, meta.labels, meta.annotations)
            result = known.result if known and known.of == now else _examined(kind, item)
            known = self._known[meta.uid] = _Decoded(item, now, result)
        return known.result

    def forget(self, uid: str) -> None:
        """An object is gone."""
        self._known.pop(uid, None)


def _examined(kind: str, item: Custom) -> Kind | Invalid:
    meta = item.metadata
    about: Mapping[str, object] = {
        "name": meta.name,
        "namespace": meta.namespace,
        "uid": meta.uid,
        "generation": meta.generation,
        "labels": dict(meta.labels),
        "annotations": dict(meta.annotations),
        "deletionTimestamp": meta.deletion_timestamp,
    }
    verdict = examine({"apiVersion": API_VERSION, "kind": kind, "metadata": dict(about), "spec": dict(item.spec)})
    if verdict.kind is None:
        return Invalid("; ".join(str(problem) for problem in errors(verdict.problems)))
    return verdict.kind
