"""Runs the pods of a Job until it has succeeded, or failed too often.

As much of batch/v1 as work needs that is done once: completions, parallelism, backoffLimit, a deadline, and the time
to live afterwards. Indexed completions and pod failure policies are not known here.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from penstock.api.objects import Json
from penstock.cluster.errors import NotFound
from penstock.cluster.port import Preconditions
from penstock.engine.workloads.children import Children, pod_from, spare_name
from penstock.engine.workloads.context import Context, stamp
from penstock.engine.workloads.kinds import JOBS, Job, Pod

_LABELS = ("batch.kubernetes.io/job-name", "job-name")
_UID = ("batch.kubernetes.io/controller-uid", "controller-uid")
_FIRST_WAIT, _LONGEST_WAIT = 10.0, 360.0
"""Seconds before another try after a failure: they double, as in Kubernetes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a Job stands."""

    active: int
    succeeded: int
    failed: int
    ended: Json | None = None
    """The condition that says how it ended."""


class Jobs:
    """The controller of Jobs."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._children = Children(context, JOBS)

    def forget(self, uid: str) -> None:
        """A Job is gone."""
        self._children.forget(uid)

    async def look(self, namespace: str, name: str) -> float | None:
        """Do what is to be done for one of them; the seconds after which to look again, if time alone matters."""
        item = self._context.caches.jobs.get(name, namespace)
        if item is None or item.metadata.deletion_timestamp is not None:
            return None
        pods, now = self._children.of(item), self._context.now()
        said = _end(item)
        if said is not None:
            return await self._expire(item, said, now)
        verdict = judge(item, pods, now)
        again = await self._fit(item, pods, verdict, now)
        await self._context.tell_status(JOBS, item, item.status, _status(item, verdict, now))
        return again

    async def _fit(self, item: Job, pods: list[Pod], verdict: Verdict, now: datetime) -> float | None:
        active = [pod for pod in pods if not pod.ended and not pod.leaving]
        if verdict.ended or item.spec.suspend:
            for pod in active:
                await self._children.delete(item, pod, "the job has ended" if verdict.ended else "the job is suspended")
            return None
        wait = _wait(pods, verdict.failed, now)
        if not wait:
            await self._create(item, pods, verdict)
        return min((one for one in (wait, _left(item, now)) if one), default=None)

    async def _create(self, item: Job, pods: list[Pod], verdict: Verdict) -> None:
        wanted = min(item.spec.parallelism, item.spec.completions - verdict.succeeded) - verdict.active
        taken = {pod.metadata.name for pod in pods}
        names = (name for number in count() if (name := spare_name(item, number)) not in taken)
        labels = dict.fromkeys(_LABELS, item.metadata.name) | dict.fromkeys(_UID, item.metadata.uid)
        for _ in range(wanted):
            body = pod_from(item.spec.template, name=next(names), namespace=item.metadata.namespace, labels=labels)
            await self._children.create(item, body)

    async def _expire(self, item: Job, said: Json, now: datetime) -> float | None:
        """Delete a Job that has ended, when its time has come."""
        meta, left = item.metadata, item.spec.ttl_seconds_after_finished
        if left is None:
            return None
        wait = left - (now - datetime.fromisoformat(said["lastTransitionTime"])).total_seconds()
        if wait > 0:
            return wait
        with suppress(NotFound):
            await self._context.cluster.delete(
                JOBS, meta.name, namespace=meta.namespace, only_if=Preconditions(uid=meta.uid)
            )
        return None


def judge(item: Job, pods: list[Pod], now: datetime) -> Verdict:
    """How a Job stands, from its pods. Those that ended stay until the Job goes, so that they can be counted. Pure."""
    succeeded = sum(pod.status.phase == "Succeeded" for pod in pods)
    failed = sum(pod.status.phase == "Failed" for pod in pods)
    active = sum(not pod.ended and not pod.leaving for pod in pods)
    ended: Json | None = None
    if succeeded >= item.spec.completions:
        ended = {
            "type": "Complete",
            "reason": "CompletionsReached",
            "message": "Reached expected number of succeeded pods",
        }
    elif failed > item.spec.backoff_limit:
        ended = {
            "type": "Failed",
            "reason": "BackoffLimitExceeded",
            "message": "Job has reached the specified backoff limit",
        }
    elif _left(item, now) == 0:
        ended = {
            "type": "Failed",
            "reason": "DeadlineExceeded",
            "message": "Job was active longer than specified deadline",
        }
    return Verdict(active, succeeded, failed, ended)


def _left(item: Job, now: datetime) -> float | None:
    """Seconds that a Job may still run; None when it has no deadline."""
    deadline, began = item.spec.active_deadline_seconds, item.status.get("startTime")
    if deadline is None or not began:
        return None
    return max(0.0, deadline - (now - datetime.fromisoformat(began)).total_seconds())


def _wait(pods: list[Pod], failed: int, now: datetime) -> float:
    """Seconds before another try: counted from the last pod that failed, by its making."""
    tries = [pod.metadata.creation_timestamp for pod in pods if pod.status.phase == "Failed"]
    if not tries:
        return 0.0
    pause = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(failed - 1, 10))
    return max(0.0, pause - (now - datetime.fromisoformat(max(tries))).total_seconds())


def _end(item: Job) -> Json | None:
    conditions: list[Json] = item.status.get("conditions") or []
    return next((one for one in conditions if one["type"] in {"Complete", "Failed"}), None)


def _status(item: Job, verdict: Verdict, now: datetime) -> Json:
    began = item.status.get("startTime") or stamp(now)
    counts = {"active": verdict.active, "succeeded": verdict.succeeded, "failed": verdict.failed}
    told: Json = {"startTime": began, **{name: number for name, number in counts.items() if number}}
    if verdict.ended:
        time = {"lastProbeTime": stamp(now), "lastTransitionTime": stamp(now)}
        told["conditions"] = [{**verdict.ended, "status": "True", **time}]
        told |= {"completionTime": stamp(now)} if verdict.ended["type"] == "Complete" else {}
        told.pop("active", None)
    return told
