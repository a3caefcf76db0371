"""kubectl's way to name objects: `pods`, `pod x y`, `nss/compute pod/x`, `pods,svc`, `all`. Pure.

Words are split here; `kinds.py` knows what they mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.cli.objects.complaint import Misuse


@dataclass(frozen=True, slots=True)
class Named:
    """Objects of one kind: those with these names, or all."""

    kind: str
    names: tuple[str, ...] = ()


def split(words: Sequence[str]) -> list[Named]:
    """What the words name, in their order; each object once. `Misuse` says how to write it."""
    if not words:
        raise Misuse("name objects: TYPE, TYPE NAME, or TYPE/NAME, for instance pods or nodeset/compute")
    if any("/" in word for word in words):
        return _slashed(words)
    kinds, names = [kind for kind in words[0].split(",") if kind], tuple(dict.fromkeys(words[1:]))
    if not kinds:
        raise Misuse(f"{words[0]!r} names no kind; write for instance pods or nodesets")
    for empty in (name for name in names if not name):
        raise Misuse(f"{empty!r} cannot be a name")
    return [Named(kind, names) for kind in dict.fromkeys(kinds)]


def _slashed(words: Sequence[str]) -> list[Named]:
    found: dict[tuple[str, str], None] = {}
    for word in words:
        kind, slash, name = word.partition("/")
        if not (kind and slash and name) or "/" in name or "," in kind:
            raise Misuse(f"{word!r} is not TYPE/NAME; where one object is named so, all are: nodeset/a pod/b")
        found[kind, name] = None
    return [Named(kind, (name,)) for kind, name in found]


def one(words: Sequence[str], *, otherwise: str = "") -> Named:
    """A single object; a bare name is one of `otherwise`: `penstock logs x` means a pod."""
    if len(words) == 1 and otherwise and "/" not in words[0]:
        return Named(otherwise, (words[0],))
    found = split(words)
    if len(found) != 1 or len(found[0].names) != 1:
        raise Misuse(f"name one object, not {' '.join(words)!r}")
    return found[0]
