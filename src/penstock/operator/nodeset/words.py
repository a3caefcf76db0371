"""A plan in words: what would be done about a NodeSet, step by step, and why. Pure.

Steps of one kind that are done for one reason are one line, however many workers they are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace

from penstock.operator.nodeset.leaving import wanted
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Drain, Plan, Wait
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
    "wait": "wait for worker {who}",
    "warn": "warn the jobs on {who}",
    "requeue": "requeue the jobs on {who}",
    "cancel": "cancel the jobs on {who}",
}
"""In the order in which things are done; a step that is not known here is told by its name."""
_UNSAID = {
    "undrain": "nobody wishes it drained any more, and the drain was ours",
    "claims": "its worker needs it, and it is not there",
}
"""Why such a step is done, whoever it is about."""
_SILENT = {"leaving", "more", "jobs", "again"}
"""What is told by other steps, or is none."""
_BETWEEN = re.compile(r",(?![^\[]*\])")
"""A comma outside of brackets."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do, or to wait for."""

    do: str
    about: tuple[str, ...]
    """Workers, Slurm nodes or claims; nobody in particular where a sentence says it all."""
    why: str = ""
    claims: tuple[str, ...] = ()
    """What goes with a worker that is deleted: people's data."""

    @property
    def sentence(self) -> str:
        """For a person."""
        who = hostlist.compress(self.about)
        if not who:
            return self.why
        told = _SENTENCES.get(self.do, f"{self.do} {{who}}").format(who=who) + self._taken_along
        return f"{told}: {self.why}" if self.why else told

    @property
    def _taken_along(self) -> str:
        if not self.claims:
            return ""
        noun = "claim" if len(self.claims) == 1 else "claims"
        return f", and {noun} {_listed(self.claims)} with it"


def steps(plan: Plan, now: Snapshot) -> list[Step]:
    """All steps of a plan for what is now, in the order in which they are done, each with its reason."""
    given = {field.name: getattr(plan, field.name) for field in fields(plan) if field.name not in _SILENT}
    order = [name for name in _SENTENCES if name in given] + [name for name in given if name not in _SENTENCES]
    leaves = {one.pod.metadata.uid: f"{one.why}; " for one in plan.leaving}
    unsaid = _UNSAID | {"create": _lacking(plan, now)}
    found = [step for name in order for step in _grouped(name, _items(given[name], leaves), unsaid.get(name, ""))]
    found = [_with_claims(step, plan) if step.do == "remove" else step for step in found]
    found += [Step(order.act.value, order.nodes, order.why) for order in plan.jobs]
    return [*found, *([Step("create", (), "more workers are made after these")] if plan.more else [])]


def _lacking(plan: Plan, now: Snapshot) -> str:
    """Why workers are made."""
    if not now.per_machine:
        return wanted(now)
    machines = [one.seat.machine for one in plan.create if one.seat.machine]
    return f'machine "{machines[0]}" has none' if len(machines) == 1 else f"machines {_listed(machines)} have none"


def _with_claims(step: Step, plan: Plan) -> Step:
    workers = {*step.about}
    gone = (one.claims for one in plan.remove if one.pod.metadata.name in workers)
    return replace(step, claims=tuple(claim.metadata.name for claims in gone for claim in claims))


def _listed(names: Sequence[str]) -> str:
    """Names for a person: `data-n-[1-3] and log-n-[1-3]`."""
    *first, last = _BETWEEN.split(hostlist.compress(names))
    return f"{', '.join(first)} and {last}" if first else last


def _items(value: object, leaves: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """About whom, and why; of who leaves, first why that is."""
    if isinstance(value, Mapping):
        yield from ((name, _pairs(wanted)) for name, wanted in value.items())
    elif isinstance(value, Iterable) and not isinstance(value, str):
        yield from (_told(one, leaves) for one in value)
    elif value:
        yield "", str(value)


def _told(one: object, leaves: Mapping[str, str]) -> tuple[str, str]:
    if isinstance(one, str):
        return ("", one) if " " in one else (one, "")
    first = leaves.get(one.pod.metadata.uid, "") if isinstance(one, Drain | Wait) else ""
    return _subject(one), first + _reason(one)


def _grouped(name: str, items: Iterable[tuple[str, str]], unsaid: str) -> Iterator[Step]:
    by_reason: dict[str, list[str]] = {}
    for who, why in items:
        by_reason.setdefault(why or unsaid, []).append(who)
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
