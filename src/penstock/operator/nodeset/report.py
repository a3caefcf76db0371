"""What is told about a NodeSet: the counts of its status, and its conditions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from penstock.api.objects import Json
from penstock.operator.conditions import Cause, Condition, summary
from penstock.operator.nodeset.plan import Plan
from penstock.operator.nodeset.revision import HASH, revision
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.resources import Pod
from penstock.render import labels
from penstock.slurm import hostlist
from penstock.slurm.nodestate import Base

_SHOWN = 3
"""Different troubles told in a message; the rest is counted."""


def counts(now: Snapshot, before: Mapping[str, object], moment: datetime) -> Json:
    """The numbers of the status. Slurm's stay as they were while Slurm does not answer: a zero would be a lie."""
    newest = revision(now.node_set)
    seconds = now.node_set.spec.min_ready_seconds
    available = sum(_is_available(pod, seconds, moment) for pod in now.ready) if seconds else len(now.ready)
    return {
        "replicas": len(now.pods),
        "desired": now.desired,
        "updatedReplicas": sum(pod.metadata.labels.get(HASH) == newest for pod in now.there),
        "readyReplicas": len(now.ready),
        "availableReplicas": available,
        "unavailableReplicas": max(now.desired - available, 0),
        "observedGeneration": now.node_set.metadata.generation,
        "nodeSetHash": newest,
        "selector": labels.selector_text("slurmd", now.node_set),
        **_slurm_counts(now, before),
    }


def _is_available(pod: Pod, seconds: int, moment: datetime) -> bool:
    if not pod.ready_since:
        return True
    return datetime.fromisoformat(pod.ready_since) + timedelta(seconds=seconds) <= moment


def available_in(now: Snapshot, moment: datetime) -> float | None:
    """Seconds until the next worker counts as available; None when none is about to."""
    seconds = now.node_set.spec.min_ready_seconds
    if not seconds:
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
    if plan.wait or plan.drain:
        return Cause("Draining", _leaving(plan))
    if len(now.pods) > now.desired:
        return Cause("ScalingIn", f"{len(now.pods)} workers are there, {now.desired} are wanted.")
    if ready < now.desired:
        return Cause("ScalingOut", f"{ready} of {now.desired} workers are ready.")
    return None


def _leaving(plan: Plan) -> str:
    told = [(one.pod, one.why) for one in plan.wait] + [(one.pod, "begins to drain") for one in plan.drain]
    return f"{len(told)} workers leave when they are drained. {_grouped(told)}"


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
    if len(now.ready) == len(now.there):
        return None
    troubles = [(pod, pod.trouble) for pod in now.there if pod.trouble and pod.ready_since is None]
    return Cause("WorkersInTrouble", _grouped(troubles)) if troubles else None
