"""A plan in words: what would be done about a NodeSet, step by step, and why. Pure.

Steps of one kind that are done for one reason are one line, however many workers they are about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from penstock.operator.nodeset.steps import Plan
from penstock.slurm import hostlist

_SENTENCES = {
    "undrain": "give {who} back to Slurm",
    "drain": "let no more jobs come to {who}",
    "tend": "change claim {who}",
    "claims": "make claim {who}",
    "adopt": "take worker {who} over as it runs",
    "create": "make worker {who}",
    "blocked": "worker {who} cannot be made yet",
    "relabel": "label worker {who}",
    "remove": "delete worker {who}",
    "jobs": "do not let the jobs on {who} go on",
    "wait": "worker {who} waits before it goes",
}
"""In the order in which things are done; a step that is not known here is told by its name."""
_SILENT = {"leaving", "more", "jobs", "again"}
"""What is told by other steps, or is none."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do, or to wait for."""

    do: str
    about: tuple[str, ...]
    """Workers, Slurm nodes or claims; nobody in particular where a sentence says it all."""
    why: str = ""

    @property
    def sentence(self) -> str:
        """For a person."""
        who = hostlist.compress(self.about)
        if not who:
            return self.why
        told = _SENTENCES.get(self.do, f"{self.do} {{who}}").format(who=who)
        return f"{told}: {self.why}" if self.why else told


def steps(plan: Plan) -> list[Step]:
    """All steps of a plan, in the order in which they are done."""
    given = {field.name: getattr(plan, field.name) for field in fields(plan) if field.name not in _SILENT}
    order = [name for name in _SENTENCES if name in given] + [name for name in given if name not in _SENTENCES]
    found = [step for name in order for step in _grouped(name, _items(given[name]))]
    found += [Step("jobs", order.nodes, f"{order.why}; {order.act.value} the jobs there") for order in plan.jobs]
    return [*found, *([Step("create", (), "more workers are made after these")] if plan.more else [])]


def _items(value: object) -> Iterator[tuple[str, str]]:
    """About whom, and why."""
    if isinstance(value, Mapping):
        yield from ((name, _pairs(wanted)) for name, wanted in value.items())
    elif isinstance(value, Iterable) and not isinstance(value, str):
        yield from map(_told, value)
    elif value:
        yield "", str(value)


def _told(one: object) -> tuple[str, str]:
    if isinstance(one, str):
        return ("", one) if " " in one else (one, "")
    return _subject(one), _reason(one)


def _grouped(name: str, items: Iterable[tuple[str, str]]) -> Iterator[Step]:
    by_reason: dict[str, list[str]] = {}
    for who, why in items:
        by_reason.setdefault(why, []).append(who)
    return (Step(name, (*filter(None, who),), why) for why, who in by_reason.items())


def _subject(one: object) -> str:
    """Whom a step is about: a Slurm node, a pod, a seat, a claim."""
    for name in ("node", "pod", "seat", "claim", "metadata"):
        found = one.get(name) if isinstance(one, Mapping) else getattr(one, name, None)
        if found is not None:
            return _name(found)
    return str(one)


def _name(found: object) -> str:
    if isinstance(found, str):
        return found
    if isinstance(found, Mapping):
        return str(found.get("name", ""))
    if is_dataclass(found):
        return str(getattr(found, "pod_name", None) or getattr(found, "key", ""))
    return str(getattr(getattr(found, "metadata", None), "name", found))


def _reason(one: object) -> str:
    why = str(getattr(one, "why", ""))
    return f"{why}, if Slurm says so once more" if getattr(one, "drained", False) else why


def _pairs(wanted: object) -> str:
    if not isinstance(wanted, Mapping):
        return str(wanted)
    return ", ".join(f"{name}={text}" for name, text in sorted(wanted.items()))
