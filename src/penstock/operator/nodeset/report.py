"""What is told about a NodeSet: the counts of its status, and its conditions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from penstock.api.nodeset import UpdateType
from penstock.api.objects import Json
from penstock.operator.conditions import Cause, Condition, counted, summary
from penstock.operator.nodeset.claims import Claims
from penstock.operator.nodeset.drains import broken_walls
from penstock.operator.nodeset.pins import pins
from penstock.operator.nodeset.plan import has_just_begun, unregistered
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Plan
from penstock.operator.nodeset.updates import current, is_available
from penstock.operator.resources import Pod
from penstock.render import labels
from penstock.slurm import hostlist
from penstock.slurm.nodestate import Base

_SHOWN = 3
"""Different troubles told in a message; the rest is counted."""
_CLAIMS = "ClaimsInTheWay"


def counts(now: Snapshot, before: Mapping[str, object]) -> Json:
    """The numbers of the status. Slurm's stay as they were while Slurm does not answer: a zero would be a lie."""
    seconds = now.node_set.spec.min_ready_seconds
    available = sum(is_available(pod, now) for pod in now.ready) if seconds else len(now.ready)
    return {
        "replicas": len(now.pods),
        "desired": now.desired,
        "updatedReplicas": current(now, now.there),
        "readyReplicas": len(now.ready),
        "availableReplicas": available,
        "unavailableReplicas": max(now.desired - available, 0),
        "observedGeneration": now.node_set.metadata.generation,
        "nodeSetHash": now.revision,
        "selector": labels.selector_text("slurmd", now.node_set),
        **_pinned(now),
        **_slurm_counts(now, before),
    }


def _pinned(now: Snapshot) -> Json:
    return {"ordinalToNode": pins(now, now.machines_before)} if now.node_set.spec.pin_to_node else {}


def available_in(now: Snapshot) -> float | None:
    """Seconds until the next worker counts as available; None when none is about to."""
    seconds, moment = now.node_set.spec.min_ready_seconds, now.moment
    if not seconds or moment is None:
        return None
    since = [datetime.fromisoformat(pod.ready_since) for pod in now.ready if pod.ready_since]
    left = [(one + timedelta(seconds=seconds) - moment).total_seconds() for one in since]
    return min((one for one in left if one > 0), default=None)


def _slurm_counts(now: Snapshot, before: Mapping[str, object]) -> Json:
    fields = ("slurmIdle", "slurmAllocated", "slurmDown", "slurmDrain")
    if now.slurm is None:
        return {name: before.get(name, 0) for name in fields}
    states = [report.condition for pod in now.pods if (report := now.report(pod)) is not None]
    return {
        "slurmIdle": sum(state.base is Base.IDLE for state in states),
        "slurmAllocated": sum(state.base in {Base.ALLOCATED, Base.MIXED} for state in states),
        "slurmDown": sum(state.base in {Base.DOWN, Base.ERROR} for state in states),
        "slurmDrain": sum(state.drain for state in states),
    }


def conditions(now: Snapshot, plan: Plan, *, degraded: Cause | None) -> list[Condition]:
    """Ready, Progressing, Degraded."""
    ready = len(now.ready)
    well = f"{ready} of {now.desired} workers are ready."
    short = Cause("WorkersMissing", well) if ready < now.desired else None
    return summary(
        ready=short,
        progressing=_progress(now, plan, ready),
        degraded=degraded or _trouble(now, plan),
        well=well,
    )


def _progress(now: Snapshot, plan: Plan, ready: int) -> Cause | None:
    if told := _leaving(plan):
        leave = counted(len(told), "worker leaves when it is drained", "workers leave when they are drained")
        return Cause("Draining", f"{leave}. {_grouped(told)}")
    if len(now.pods) > now.desired:
        there = counted(len(now.pods), "worker is there", "workers are there")
        return Cause("ScalingIn", f"{there}, {counted(now.desired, 'is', 'are')} wanted.")
    if ready < now.desired:
        return Cause("ScalingOut", f"{ready} of {now.desired} workers are ready.")
    old = sum(not now.is_current(pod) for pod in now.there)
    if old and now.node_set.spec.update_strategy.type is UpdateType.ROLLING_UPDATE:
        return Cause("Updating", f"{old} of {len(now.there)} workers are not of template {now.revision} yet.")
    return None


def _leaving(plan: Plan) -> list[tuple[Pod, str]]:
    """Workers that leave and are not drained yet, and what is said of each."""
    going = {one.pod.metadata.uid for one in plan.leaving}
    begun = [(one.pod, "begins to drain") for one in plan.drain if one.pod.metadata.uid in going]
    return [(one.pod, one.why) for one in plan.wait] + begun


def _grouped(told: Iterable[tuple[Pod, str]]) -> str:
    """Workers by what is said of them, so that a thousand with one trouble are one line."""
    by_words: dict[str, list[str]] = {}
    for pod, words in told:
        by_words.setdefault(words, []).append(pod.metadata.name)
    groups = [f"{hostlist.compress(pods)}: {words}" for words, pods in by_words.items()]
    more = f"; and {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else ""
    return "; ".join(groups[:_SHOWN]) + more


def _trouble(now: Snapshot, plan: Plan) -> Cause | None:
    if unknown := [one for one in plan.wait if one.unknown]:
        return Cause("SlurmUnknown", _grouped((one.pod, one.why) for one in unknown))
    if words := _unheard(now):
        return Cause("SlurmUnknown", words)
    if broken := _broken_walls(now):
        return Cause("WallsBroken", _grouped(broken))
    if cause := _in_the_way(plan) or lost_claims(now, plan):
        return cause
    if len(now.ready) == len(now.there):
        return None
    troubles = [(pod, pod.trouble) for pod in now.there if pod.trouble and pod.ready_since is None]
    return Cause("WorkersInTrouble", _grouped(troubles)) if troubles else None


def _in_the_way(plan: Plan) -> Cause | None:
    """What keeps seats empty, or has a name that is ours; each thing once, though both may say it."""
    told = dict.fromkeys([*(one.why for one in plan.blocked), *plan.conflicts])
    reason = next((one.reason for one in plan.blocked), _CLAIMS)
    return Cause(reason, "; ".join([*told][:_SHOWN])) if told else None


def lost_claims(now: Snapshot, plan: Plan) -> Cause | None:
    """What somebody should know who deleted the claims of workers that use them; None when nobody did."""
    lost = Claims(now).lost(plan.leaving) if now.claims else []
    return Cause(_CLAIMS, "; ".join(lost[:_SHOWN])) if lost else None


def _unheard(now: Snapshot) -> str:
    """What Slurm has not said for so long that something is wrong, though nobody waits for it."""
    if now.slurm is None:
        return f"Slurm does not answer: {now.slurm_trouble}" if now.given_up and now.there else ""
    strangers = [pod for pod in unregistered(now) if not has_just_begun(now, pod)]
    if not strangers:
        return ""
    named = hostlist.compress(pod.metadata.name for pod in strangers)
    return f"{named}: ready, but Slurm does not know its node; look at slurmd's log"


def _broken_walls(now: Snapshot) -> list[tuple[Pod, str]]:
    """Workers whose nodes drain themselves, each with what its proof found."""
    found = ((pod, report) for pod in now.there if (report := now.report(pod)) is not None)
    return [(pod, words) for pod, report in found if (words := broken_walls(report)) is not None]
