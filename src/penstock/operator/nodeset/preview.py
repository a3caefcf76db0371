"""What would be done about a NodeSet now: for people who want to know before it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.nodeset import UpdateType
from penstock.api.objects import Json
from penstock.operator.conditions import Cause, counted
from penstock.operator.nodeset.leaving import wanted
from penstock.operator.nodeset.report import lost_claims
from penstock.operator.nodeset.reservation import CONDITION
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Plan
from penstock.operator.nodeset.words import Step, steps

_WINDOW = f"replaced in the maintenance window (condition {CONDITION} tells when)"
_WAIT_FOR = {
    UpdateType.SCHEDULED_UPDATE: (f"it is {_WINDOW}", f"they are {_WINDOW}"),
    UpdateType.ON_DELETE: (
        "updateStrategy OnDelete: delete its pod to have it replaced",
        "updateStrategy OnDelete: delete their pods to have them replaced",
    ),
}
"""What an old worker waits for, and several do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A NodeSet at one moment, and the plan for it."""

    now: Snapshot
    plan: Plan
    trouble: Cause | None = None
    """What keeps the operator from doing anything, or from following the spec."""

    def page(self, who: str) -> str:
        """For a person: how it is, then what is done about it, step by step."""
        now = self.now
        about = f"{wanted(now)}, {_are(len(now.there))} there, {_are(len(now.ready))} ready"
        told = [f"{who}: {about}; the newest template is {now.revision}"]
        told += [_about_old(now, self._old)] if self._old else []
        told += [f"trouble: {trouble.message}"] if (trouble := self._trouble) else []
        told += [] if now.slurm is not None else [f"Slurm does not answer: {now.slurm_trouble}"]
        found = steps(self.plan, now)
        told += [f"{number}. {one.sentence}" for number, one in enumerate(found, 1)] or ["nothing is to be done"]
        return "".join(f"{line}\n" for line in told)

    @property
    def _old(self) -> int:
        return sum(not self.now.is_current(pod) for pod in self.now.there)

    @property
    def _trouble(self) -> Cause | None:
        return self.trouble or lost_claims(self.now, self.plan)

    @property
    def document(self) -> Json:
        """For programs."""
        now, trouble = self.now, self._trouble
        return {
            "name": now.node_set.metadata.name,
            "namespace": now.node_set.metadata.namespace,
            "workers": {"wanted": now.desired, "there": len(now.there), "ready": len(now.ready), "old": self._old},
            "revision": now.revision,
            "slurm": {
                "answers": now.slurm is not None,
                "trouble": None if now.slurm is not None else now.slurm_trouble,
            },
            "trouble": {"reason": trouble.reason, "message": trouble.message} if trouble else None,
            "steps": [_written(one) for one in steps(self.plan, now)],
        }


def _about_old(now: Snapshot, count: int) -> str:
    """Workers of an older template, and what they wait for where that is none of the steps."""
    told = f"{counted(count, 'of them is', 'of them are')} of an older template"
    waits = _WAIT_FOR.get(now.node_set.spec.update_strategy.type)
    return f"{told}; {waits[0 if count == 1 else 1]}" if waits and not now.deleting else told


def _written(step: Step) -> Json:
    taken = {"claims": list(step.claims)} if step.do == "remove" else {}
    return {"do": step.do, "about": list(step.about), "why": step.why, **taken}


def _are(count: int) -> str:
    return counted(count, "is", "are")
