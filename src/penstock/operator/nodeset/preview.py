"""What would be done about a NodeSet now: for people who want to know before it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.objects import Json
from penstock.operator.conditions import Cause
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Plan
from penstock.operator.nodeset.words import steps


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
        about = f"{now.desired} workers are wanted, {len(now.there)} are there, {len(now.ready)} are ready"
        told = [f"{who}: {about}; the newest template is {now.revision}"]
        told += [f"{self._old} of them are of an older template"] if self._old else []
        told += [f"trouble: {self.trouble.message}"] if self.trouble else []
        told += [] if now.slurm is not None else [f"Slurm does not answer: {now.slurm_trouble}"]
        found = steps(self.plan)
        told += [f"{number}. {one.sentence}" for number, one in enumerate(found, 1)] or ["nothing is to be done"]
        return "".join(f"{line}\n" for line in told)

    @property
    def _old(self) -> int:
        return sum(not self.now.is_current(pod) for pod in self.now.there)

    @property
    def document(self) -> Json:
        """For programs."""
        now, trouble = self.now, self.trouble
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
            "steps": [{"do": one.do, "about": list(one.about), "why": one.why} for one in steps(self.plan)],
        }
