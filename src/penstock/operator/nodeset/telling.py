"""What people, pods and Slurm are told after a look at a NodeSet, and when the next look is though nothing happens.

`report` says how things are; here it is said to whom, and how soon it may be otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.cluster.errors import ClusterError
from penstock.operator.conditions import Cause, Condition
from penstock.operator.context import Outcome
from penstock.operator.nodeset.errand import Errand
from penstock.operator.nodeset.expected import FORGOTTEN_AFTER
from penstock.operator.nodeset.plan import REGISTERS_IN, SHORT_LIFE, registering
from penstock.operator.nodeset.recording import Recorded, Recording
from penstock.operator.nodeset.report import available_in, conditions, counts
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Plan
from penstock.operator.nodeset.windows import Kept, Windows, remembered
from penstock.operator.resources import Custom
from penstock.operator.slurm_links import slurm_key
from penstock.operator.status import soonest

MARKS = "Marks"
"""The queue's word for "write on the pods of this NodeSet": `("Marks", namespace, name)`."""
_TAKES_EFFECT = 0.05
"""Seconds until Slurm has carried out an order."""
_ORDER_AGAIN = 2.0
"""Seconds until Slurm is given an order once more."""
_RIVALS = 5.0
"""Seconds until somebody looks whether another NodeSet has given a name free: its workers are its own affair."""
_STAYS = {"SlurmUnknown", "JobsSuspended"}
"""Troubles that nothing changes: an order that Slurm did not take, a job that stays. Nobody would look again."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of acting."""

    troubles: Sequence[Cause | None] = ()
    """What a person should know; the first of them is told."""
    refused: ClusterError | None = None
    """What the cluster did not take, if anything."""
    unfinished: bool = False
    """Something had changed since we looked."""
    more: bool = False
    """There was more to do than fits in one look."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What Slurm is told beside orders: what its nodes are, and when they are maintained."""

    recording: Recording
    windows: Windows

    def forget(self, uid: str) -> None:
        """A NodeSet is gone."""
        self.recording.forget(uid)
        self.windows.forget(uid)

    async def tell(self, errand: Errand, decided: Plan, done: Done) -> Outcome:
        """Tell pods and Slurm how things are; what the status shall say, and when to look again."""
        recorded, kept = Recorded(), Kept(condition=remembered(errand.item))
        if not decided.create or done.refused:
            # Thousands of workers that come are not to wait for what is said about those that are there.
            recorded, kept = await self._tell_those_there(errand)
        _wait(errand, decided)
        refusal = Cause("SlurmRefuses", "; ".join(recorded.refusals)) if recorded.refusals else None
        trouble = next((one for one in (*done.troubles, kept.trouble, refusal) if one is not None), None)
        told = outcome(
            errand.item, errand.now, decided, degraded=trouble, window=kept.condition,
            again=soonest(
                _soon(recorded, done, trouble), kept.again, decided.again, errand.refused.again_in(decided.growing)
            ),
        )  # fmt: skip
        return replace(told, refused=done.refused)

    async def _tell_those_there(self, errand: Errand) -> tuple[Recorded, Kept]:
        context, item, now = errand.context, errand.item, errand.now
        context.look((MARKS, item.metadata.namespace, item.metadata.name), 0)
        recorded = await self.recording.record(context, item, errand.cluster, now)
        nodes = [one.name for pod in now.there if (one := now.report(pod)) is not None]
        kept = await self.windows.keep(item, now.node_set, errand.cluster.controller, nodes, now.slurm_time)
        return recorded, kept


def outcome(
    item: Custom,
    now: Snapshot,
    decided: Plan,
    *,
    degraded: Cause | None,
    again: float | None = None,
    window: Condition | None = None,
) -> Outcome:
    """The status of a NodeSet, and when to look again: as soon as anything is due."""
    due = [
        0.0 if decided.more else None,
        FORGOTTEN_AFTER if now.expected or decided.create else None,
        _RIVALS if any(one.seat.slurm_node in now.rivals for one in decided.blocked) else None,
        SHORT_LIFE if any(pod.ended for pod in now.there) else None,
        REGISTERS_IN if registering(now) else None,
        now.given_up_in if now.there else None,
        available_in(now),
    ]
    return Outcome(
        conditions=[*conditions(now, decided, degraded=degraded), *([window] if window else [])],
        status=counts(now, item.status),
        again=soonest(*due, again),
    )


def _wait(errand: Errand, decided: Plan) -> None:
    """Have Slurm asked while a worker waits for it."""
    context, controller, meta = errand.context, errand.cluster.controller, errand.item.metadata
    waiting = bool(decided.wait or decided.drain or decided.undrain or registering(errand.now))
    context.wait_for_slurm(controller, ("NodeSet", meta.namespace, meta.name), waiting=waiting)
    if decided.drain:
        # An idle node is drained as soon as Slurm has the order; no need to wait for the next question.
        context.look(slurm_key(controller), _TAKES_EFFECT)


def _soon(recorded: Recorded, done: Done, trouble: Cause | None) -> float | None:
    """In how many seconds to go on with what could not be done in this look; None when all was."""
    if recorded.more or done.more:
        return 0.0
    stays = any(one.reason in _STAYS for one in (*done.troubles, trouble) if one is not None)
    return _ORDER_AGAIN if recorded.trouble or stays or done.unfinished else None
