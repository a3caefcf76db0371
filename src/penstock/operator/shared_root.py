"""The shared root is filled before anybody uses it, and filled anew only while nobody does.

A Job fills it. It is made suspended, so that everybody sees it and makes no more pods; if then there really are none,
it is let go. So no pod that is made at the same moment finds itself in a root that changes beneath it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from penstock.api.objects import Json
from penstock.cluster.errors import AlreadyExists, NotFound
from penstock.cluster.port import Preconditions
from penstock.operator import fresh, workers
from penstock.operator.caches import Caches
from penstock.operator.conditions import Cause, Condition
from penstock.operator.context import Context
from penstock.operator.resources import CUSTOMS, JOBS, Custom, Job
from penstock.render import shared_root as render
from penstock.render.inventory import Cluster

FILLED = "SharedRootFilled"
"""The condition of a Controller that tells of it."""
LOOK_AGAIN = 5.0
"""Seconds until somebody looks whether the last one that uses the root has gone."""


class Deed(Enum):
    """What to do about the Job."""

    NOTHING = auto()
    MAKE = auto()
    START = auto()
    DROP = auto()


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a root."""

    wanted: str
    """The image that it should be filled from."""
    filled: str
    """The image that it was filled from, as far as was told; empty when it never was."""
    job: Job | None
    """The Job for the wanted image."""
    users: tuple[str, ...] = ()
    """Pods that have it."""


@dataclass(frozen=True, slots=True)
class Tended:
    """What came of a look at it."""

    status: Json = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    again: float | None = None


def judge(found: Found) -> tuple[Deed, Condition]:
    """What to do, and what to tell. Pure."""
    job, source = found.job, found.wanted
    if found.filled == source or (job and job.succeeded):
        return Deed.NOTHING, Condition(FILLED, True, "Filled", f"The shared root was filled from {source}.")
    if job and job.failed:
        words = f'Job "{job.metadata.name}" could not fill it from {source}: read its log, mend that, and delete it'
        return Deed.NOTHING, _not_yet("Failed", f"{words}; then it is tried again.")
    if job and not job.spec.suspend:
        return Deed.NOTHING, _not_yet("Filling", f'Job "{job.metadata.name}" fills the shared root from {source}.')
    if found.users:
        return (Deed.DROP if job else Deed.NOTHING), _not_yet("InUse", _in_use(found))
    words = f"The shared root will be filled from {source}."
    return (Deed.START if job else Deed.MAKE), _not_yet("Filling", words)


def _not_yet(reason: str, message: str) -> Condition:
    return Condition(FILLED, False, reason, message)


def _in_use(found: Found) -> str:
    some = ", ".join(sorted(found.users)[:3])
    is_of = f"is of {found.filled}" if found.filled else "holds nobody knows what"
    return (
        f"The shared root {is_of} and should be of {found.wanted}; but {len(found.users)} pods use it ({some}). "
        "Scale the NodeSets and LoginSets to 0, and it is filled anew; or name the image that it is of."
    )


async def tend(context: Context, item: Custom, cluster: Cluster) -> Tended:
    """Have the root filled, if it is to be and may."""
    if cluster.controller.spec.shared_root is None:
        return Tended()
    seen = _seen(context.caches, cluster)
    found = Found(render.image(cluster), _filled(item), _job(context.caches, cluster), seen)
    deed, told = judge(found)
    if deed in {Deed.MAKE, Deed.START}:
        found = replace(found, users=await _users(context, cluster))
        deed, told = judge(found)
    await _do(context, item, cluster, deed, found.job)
    image = found.wanted if told.status else found.filled
    return Tended({"sharedRoot": {"image": image}} if image else {}, (told,), LOOK_AGAIN if found.users else None)


def held(context: Context, cluster: Cluster) -> Cause | None:
    """Why no pod that has the root may be made now."""
    if cluster.controller.spec.shared_root is None:
        return None
    controller, job = cluster.controller, _job(context.caches, cluster)
    meta = controller.metadata
    item = context.caches.find((controller.kind, meta.namespace, meta.name))
    if job.succeeded if job else item is None or _filled(item):
        return None
    words = f'waits until the shared root has been filled: see condition {FILLED} of Controller "{meta.name}"'
    return Cause("SharedRootNotFilled", words)


def with_workers(caches: Caches, cluster: Cluster) -> Cluster:
    """The cluster, with what its workers have: those made before there was a shared root do without it."""
    if cluster.controller.spec.shared_root is None:
        return cluster
    wanted = render.pod_labels(cluster).items()
    there = [pod for pod in workers.seen(caches, cluster) if not pod.ended]
    return replace(cluster, rootless_workers=any(not wanted <= pod.metadata.labels.items() for pod in there))


def _filled(item: Custom) -> str:
    told = item.status.get("sharedRoot")
    return str(told.get("image", "")) if isinstance(told, dict) else ""


def _job(caches: Caches, cluster: Cluster) -> Job | None:
    return caches.jobs.get(render.job_name(cluster), cluster.namespace)


def _seen(caches: Caches, cluster: Cluster) -> tuple[str, ...]:
    wanted = render.pod_labels(cluster).items()
    pods = (pod for pod in caches.pods.all() if pod.metadata.namespace == cluster.namespace and not pod.ended)
    return tuple(pod.metadata.name for pod in pods if wanted <= pod.metadata.labels.items())


async def _users(context: Context, cluster: Cluster) -> tuple[str, ...]:
    """Pods that have the root, as the cluster says at this moment: a watch may be behind."""
    [(label, text)] = render.pod_labels(cluster).items()
    pods = await fresh.pods(context.cluster, cluster.namespace, f"{label}={text}")
    return tuple(pod.metadata.name for pod in pods if not pod.ended)


async def _do(context: Context, item: Custom, cluster: Cluster, deed: Deed, job: Job | None) -> None:
    kind = CUSTOMS["Controller"]
    if deed is Deed.MAKE:
        with suppress(AlreadyExists):  # the watch will tell
            await context.cluster.create(JOBS, render.job(cluster))
    if deed is Deed.START and job is not None:
        meta, patch = job.metadata, {"metadata": {"uid": job.metadata.uid}, "spec": {"suspend": False}}
        await context.cluster.patch(JOBS, meta.name, patch, namespace=meta.namespace)
        context.events.normal(kind, item, "SharedRootFilling", f"Job {meta.name} fills it from {render.image(cluster)}")
    if deed is Deed.DROP and job is not None:
        meta, only_if = job.metadata, Preconditions(uid=job.metadata.uid)
        with suppress(NotFound):
            await context.cluster.delete(JOBS, meta.name, namespace=meta.namespace, only_if=only_if)
