"""Plugins with a hole, as weakenings.toml has them: what is changed, and which attacks find it."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

_WRITTEN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one file: text that it has once, and what stands there instead."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Weakening:
    """A plugin with a hole."""

    edits: tuple[Edit, ...]
    wins: tuple[str, ...]
    """The attacks that find it."""


WEAKENINGS = {
    one["name"]: Weakening(tuple(Edit(**edit) for edit in one["edits"]), tuple(one["wins"]))
    for one in _WRITTEN["weakening"]
}
UNSHAKEN: dict[str, str] = _WRITTEN["unshaken"]
"""Attacks that no change of the plugin lets win, and why."""
