"""What a Deployment says of itself: counts, and the conditions that `kubectl rollout status` waits for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from penstock.api.objects import Json
from penstock.engine.workloads.context import stamp
from penstock.engine.workloads.kinds import Deployment, ReplicaSet

_NEVER = 2**31 - 1
"""A deadline for progress that nobody is held to."""
_DONE = "NewReplicaSetAvailable"
_LATE = "ProgressDeadlineExceeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A Deployment and its ReplicaSets at one moment."""

    item: Deployment
    new: ReplicaSet | None
    old: Sequence[ReplicaSet]
    max_unavailable: int
    now: datetime

    @property
    def subject(self) -> str:
        """Whose progress it is."""
        return f'ReplicaSet "{self.new.metadata.name}"' if self.new else f'Deployment "{self.item.metadata.name}"'


def status(scene: Scene) -> Json:
    """The whole status."""
    item, every = scene.item, [one for one in [*scene.old, scene.new] if one]
    available = sum(one.counts.available_replicas for one in every)
    counts = {
        "replicas": sum(one.counts.replicas for one in every),
        "updatedReplicas": scene.new.counts.replicas if scene.new else 0,
        "readyReplicas": sum(one.counts.ready_replicas for one in every),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(one.spec.replicas for one in every) - available),
    }
    kept = {name: item.status[name] for name in ("collisionCount",) if name in item.status}
    told = {"observedGeneration": item.metadata.generation, **{name: n for name, n in counts.items() if n}, **kept}
    enough = available >= item.spec.replicas - scene.max_unavailable
    conditions = [*_progress(scene, counts), _availability(enough=enough)]
    return told | {"conditions": _updated(item.status.get("conditions") or [], conditions, scene.now)}


def late_in(item: Deployment, now: datetime) -> float | None:
    """Seconds until a rollout that stands still is told to be late; None when it is not under way."""
    found = _condition(item, "Progressing")
    if not found or found.get("reason") in {_DONE, _LATE, "DeploymentPaused"} or not _has_deadline(item):
        return None
    since = datetime.fromisoformat(found["lastUpdateTime"])
    return max(1.0, item.spec.progress_deadline_seconds - (now - since).total_seconds() + 1)


def _availability(*, enough: bool) -> Json:
    if enough:
        told = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        told = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    return {"type": "Available", "status": told[0], "reason": told[1], "message": told[2]}


def _progress(scene: Scene, counts: dict[str, int]) -> list[Json]:
    """How the rollout goes; nothing new when it was done and still is."""
    item, before = scene.item, _condition(scene.item, "Progressing")
    if not _has_deadline(item):
        return []
    told: tuple[str, str, str] | None = None
    done = f"{scene.subject} has successfully progressed."
    complete = counts["replicas"] == counts["updatedReplicas"] == counts["availableReplicas"] == item.spec.replicas
    if item.spec.paused:
        told = ("Unknown", "DeploymentPaused", "Deployment is paused")
    elif before and before["reason"] == "DeploymentPaused":
        told = ("Unknown", "DeploymentResumed", "Deployment is resumed")
    elif before and before["message"] == done and counts["replicas"] == counts["updatedReplicas"]:
        pass  # It is done, and stays so when a pod is unready for a while.
    elif complete:
        told = ("True", _DONE, done)
    elif before is None or before["reason"] == _DONE or _moved(item, counts):
        told = ("True", "ReplicaSetUpdated", f"{scene.subject} is progressing.")
    elif _is_late(scene, before):
        told = ("False", _LATE, f"{scene.subject} has timed out progressing.")
    if told is None:
        return [before] if before else []
    return [{"type": "Progressing", "status": told[0], "reason": told[1], "message": told[2]}]


def _moved(item: Deployment, counts: dict[str, int]) -> bool:
    """Whether the rollout has come further than the status says."""
    said = {name: int(item.status.get(name, 0)) for name in counts}
    grew = any(counts[name] > said[name] for name in ("updatedReplicas", "readyReplicas", "availableReplicas"))
    return grew or counts["replicas"] - counts["updatedReplicas"] < said["replicas"] - said["updatedReplicas"]


def _is_late(scene: Scene, before: Json) -> bool:
    if before["reason"] in {_DONE, _LATE}:
        return bool(before["reason"] == _LATE)
    since = (scene.now - datetime.fromisoformat(before["lastUpdateTime"])).total_seconds()
    return since > scene.item.spec.progress_deadline_seconds


def _has_deadline(item: Deployment) -> bool:
    return item.spec.progress_deadline_seconds != _NEVER


def _condition(item: Deployment, kind: str) -> Json | None:
    found: list[Json] = item.status.get("conditions") or []
    return next((one for one in found if one["type"] == kind), None)


def _updated(before: Sequence[Json], conditions: Sequence[Json], now: datetime) -> list[Json]:
    """Conditions with their times: one that says the same as before keeps them; progress is new each time."""
    old, time = {one["type"]: one for one in before}, stamp(now)
    found = []
    for one in conditions:
        was = old.get(one["type"])
        since = was["lastTransitionTime"] if was and was["status"] == one["status"] else time
        same = was is not None and all(was.get(name) == one[name] for name in ("status", "reason", "message"))
        moved = same and one["reason"] == "ReplicaSetUpdated" and one is not was
        found.append(
            was if same and was and not moved else {**one, "lastUpdateTime": time, "lastTransitionTime": since}
        )
    return found
