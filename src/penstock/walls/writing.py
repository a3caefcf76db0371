"""A policy as the text of its file, and `ranges` as theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.walls.policy import HEAD, Policy, Range
from penstock.walls.reading import read, read_ranges


def written(policy: Policy) -> str:
    """The text; `PolicyError` when it would not be read again as it was meant."""
    text = _text([f"class {policy.user_class}", *_lines(policy)])
    read(text)
    return text


def written_ranges(ranges: Iterable[Range]) -> str:
    """The text of `ranges`."""
    text = _text(f"range {one.first}-{one.last} {one.user_class}" for one in sorted(ranges, key=lambda one: one.first))
    read_ranges(text)
    return text


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in [HEAD, *lines])


def _yes(said: bool | None) -> str | None:
    return None if said is None else "yes" if said else "no"


def _lines(policy: Policy) -> Iterator[str]:
    once = {
        "tenant": policy.tenant, "root": policy.root, "output": policy.output, "workdir": policy.workdir,
        "tmp": policy.tmp, "shm": policy.shm, "net": policy.net, "devices": policy.device_set,
        "containers": _yes(policy.containers), "save": _yes(policy.save),
    }  # fmt: skip
    yield from (f"{word} {value}" for word, value in once.items() if value is not None)
    yield from (f"image {one.digest} {one.path}" for one in policy.images)
    yield from (f"mount {one.source} {one.target} {'rw' if one.writable else 'ro'}" for one in policy.mounts)
    many = {
        "device": policy.devices, "environment": policy.environment, "group": policy.groups, "keep": policy.keeps,
    }  # fmt: skip
    yield from (f"{word} {value}" for word, values in many.items() for value in values)
    yield from (f"limit {what} {most}" for what, most in policy.limits)
