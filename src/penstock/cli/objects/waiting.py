"""What people wait for: `condition=Ready`, `jsonpath={.status.phase}=Running`, `delete`, `create`. Pure.

Each is a question to an object as it is; `doing/wait.py` asks it at every change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.api.objects import Json
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.fields import at, condition, number, text
from penstock.cli.objects.jsonpath import Template, shown

_KNOWN = "condition=NAME[=VALUE], jsonpath=PATH[=VALUE], create or delete"


@dataclass(frozen=True, slots=True)
class Goal:
    """What is waited for."""

    holds: Callable[[Json | None], bool]
    """Asked of an object, or of None while it is not there."""
    lacks: Callable[[Json | None], str]
    """Why it does not hold, in words."""
    may_be_missing: bool = False


def goal(what: str) -> Goal:
    """The goal that `--for` describes; `Misuse` says what it may be."""
    word, _, rest = what.partition("=")
    match word.lower():
        case "delete" if not rest:
            return Goal(lambda item: item is None, lambda _: "it is still there", may_be_missing=True)
        case "create" if not rest:
            return Goal(lambda item: item is not None, lambda _: "it is not there", may_be_missing=True)
        case "condition" if rest:
            return _condition(*_parted(rest, "true"))
        case "jsonpath" if rest:
            return _jsonpath(rest)
    raise Misuse(f"--for={what!r} is not known; write {_KNOWN}")


def _parted(text_: str, default: str) -> tuple[str, str]:
    name, equals, value = text_.partition("=")
    return name, value if equals else default


def _condition(name: str, value: str) -> Goal:
    def holds(item: Json | None) -> bool:
        found = condition(item or {}, name)
        return found is not None and text(found, "status").lower() == value.lower() and not _is_old(item, found)

    def lacks(item: Json | None) -> str:
        found = condition(item or {}, name)
        if found is None:
            there = ", ".join(text(one, "type") for one in at(item, "status", "conditions") or ())
            return f"it has no condition {name}" + (f" (it has {there})" if there else "")
        if _is_old(item, found):
            return f"its condition {name} does not speak of the latest change yet"
        why = ": ".join(filter(None, (text(found, "reason"), text(found, "message"))))
        return f"{text(found, 'type')} is {text(found, 'status')}" + (f" ({why})" if why else "")

    return Goal(holds, lacks)


def _is_old(item: Json | None, found: Json) -> bool:
    """Whether a condition speaks of an object as it was before its last change."""
    seen = number(found, "observedGeneration", otherwise=-1)
    return 0 <= seen < number(item, "metadata", "generation")


def _jsonpath(rest: str) -> Goal:
    path, value = _split_path(rest)
    template = Template.relaxed(path)

    def holds(item: Json | None) -> bool:
        found = template.values(item) if item is not None else []
        return bool(found) and (value is None or all(shown(one) == value for one in found))

    def lacks(item: Json | None) -> str:
        found = ", ".join(map(shown, template.values(item or {})))
        return f"{path} is {found}" if found else f"there is no {path}"

    return Goal(holds, lacks)


def _split_path(rest: str) -> tuple[str, str | None]:
    """The path, and the value behind the `=` that stands outside of brackets and braces."""
    depth = 0
    for place, letter in enumerate(rest):
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "=" and depth == 0:
            value = rest[place + 1 :]
            if not value:
                raise Misuse(f"--for=jsonpath={rest}: there is no value behind the =; leave it out to wait for any")
            return rest[:place], value.strip("'\"") if value[:1] in "'\"" else value
    return rest, None
