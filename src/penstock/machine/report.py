"""How a cluster is, gathered: its objects, its pods and claims, and what Slurm says of nodes and jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from penstock.api.objects import Json
from penstock.cluster.errors import ClusterError
from penstock.cluster.kube import KubeCluster
from penstock.cluster.port import Selection
from penstock.cluster.resources import Lean, Resource, Whole
from penstock.machine.inside import run_in_login
from penstock.slurm.reasons import explain

_GROUP = "slinky.slurm.net"
_KINDS = {
    "controllers": "Controller", "accountings": "Accounting", "restapis": "RestApi", "nodesets": "NodeSet",
    "loginsets": "LoginSet", "tokens": "Token",
}  # fmt: skip
_PODS: Resource[Whole] = Resource("", "v1", "pods", "Pod", Whole)
_CLAIMS: Resource[Whole] = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", Whole)
_NODES = ("sinfo", "-hN", "-o", "%N|%T|%C|%E")
_JOBS_ASKED = ("squeue", "-h", "-o", "%i|%u|%T|%M|%R|%j")
"""What people write, the reason of a drain and the name of a job, comes last: it may hold whatever separates."""
_SLURM = 5.0
"""Seconds for Slurm to answer; a screen that waits says nothing at all."""
_JOBS = 10
"""Jobs shown; `penstock slurm -- squeue` shows all."""


class Thing(msgspec.Struct, frozen=True):
    """An object of ours."""

    kind: str
    name: str
    ready: bool
    why: str
    """What it waits for, in its own words; empty when it waits for nothing."""


class PodLine(msgspec.Struct, frozen=True):
    """A pod."""

    name: str
    phase: str
    ready: bool
    restarts: int
    address: str
    why: str


class ClaimLine(msgspec.Struct, frozen=True):
    """A claim."""

    name: str
    phase: str
    size: str
    why: str = ""
    """Why it waits; empty when it does not, or nobody has said."""


class NodeLine(msgspec.Struct, frozen=True):
    """A Slurm node."""

    name: str
    state: str
    cpus: str
    """Allocated/idle/other/total, as sinfo says."""
    reason: str


class JobLine(msgspec.Struct, frozen=True):
    """A job."""

    id: str
    name: str
    user: str
    state: str
    time: str
    where: str
    """Its nodes, or why it waits, in Slurm's own word."""
    why: str = ""
    """The same in plain words."""


class _Event(Lean, frozen=True):
    """As much of an event as tells what about whom."""

    regarding: Json = msgspec.field(default_factory=dict)
    note: str = ""


_EVENTS: Resource[_Event] = Resource("events.k8s.io", "v1", "events", "Event", _Event)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster at a moment."""

    things: list[Thing]
    pods: list[PodLine]
    claims: list[ClaimLine]
    nodes: list[NodeLine] = []
    jobs: list[JobLine] = []
    slurm: str = ""
    """Why Slurm could not be asked; empty when it could."""


async def gather(cluster: KubeCluster, *, namespace: str) -> Report:
    """Look at everything once."""
    here = Selection(namespace=namespace)
    lists = [cluster.list(Resource(_GROUP, "v1beta1", plural, kind, Whole), here) for plural, kind in _KINDS.items()]
    *ours, pods, claims = await asyncio.gather(*lists, cluster.list(_PODS, here), cluster.list(_CLAIMS, here))
    report = Report(
        things=[_thing(kind, item) for kind, found in zip(_KINDS.values(), ours, strict=True) for item in found.items],
        pods=[_pod(item) for item in pods.items],
        claims=await _claims(cluster, claims.items, here),
    )
    try:
        async with asyncio.timeout(_SLURM):
            nodes, jobs = await asyncio.gather(
                _asked(cluster, namespace, _NODES), _asked(cluster, namespace, _JOBS_ASKED)
            )
    except (ClusterError, TimeoutError) as problem:
        return msgspec.structs.replace(report, slurm=str(problem) or f"Slurm did not answer within {_SLURM:.0f} s")
    known = {fields[0]: NodeLine(*fields) for fields in nodes}
    return msgspec.structs.replace(report, nodes=[*known.values()], jobs=[_job(fields) for fields in jobs[:_JOBS]])


async def _asked(cluster: KubeCluster, namespace: str, command: Sequence[str]) -> list[list[str]]:
    code, said = await run_in_login(cluster, command, namespace=namespace)
    if code:
        raise ClusterError(f"{command[0]}: {said.strip()}")
    count = command[-1].count("|")
    found = [line.split("|", count) for line in said.split("\n")]
    # A name of more lines than one begins a line that says nothing; what moves a cursor is not for a screen.
    return [[_printable(cell) for cell in fields] for fields in found if len(fields) == count + 1]


def _printable(cell: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in cell)


def _job(fields: list[str]) -> JobLine:
    number, user, state, time, where, name = fields
    return JobLine(number, name, user, state, time, where, explain(where).meaning if state == "PENDING" else "")


def _thing(kind: str, item: Whole) -> Thing:
    conditions = {one.get("type"): one for one in item.status.get("conditions") or ()}
    ready = conditions.get("Ready", {})
    is_ready = ready.get("status") == "True"
    degraded = conditions.get("Degraded", {})
    why = "" if is_ready else str(ready.get("message") or "nobody has looked at it yet")
    if degraded.get("status") == "True":
        why = str(degraded.get("message") or degraded.get("reason"))
    return Thing(kind, item.metadata.name, is_ready, why)


def _pod(item: Whole) -> PodLine:
    statuses = [*(item.status.get("initContainerStatuses") or ()), *(item.status.get("containerStatuses") or ())]
    waiting = [one["state"]["waiting"] for one in statuses if (one.get("state") or {}).get("waiting")]
    conditions = {one.get("type"): one for one in item.status.get("conditions") or ()}
    # One that has done its work is as it should be.
    is_ready = conditions.get("Ready", {}).get("status") == "True" or item.status.get("phase") == "Succeeded"
    scheduled = conditions.get("PodScheduled", {})
    told = [str(one.get("message") or one.get("reason")) for one in waiting]
    if scheduled.get("status") == "False":
        told = [str(scheduled.get("message"))]
    phase = "Terminating" if item.metadata.deletion_timestamp else str(item.status.get("phase") or "Pending")
    return PodLine(
        item.metadata.name, phase, is_ready, sum(int(one.get("restartCount", 0)) for one in statuses),
        str(item.status.get("podIP") or ""), "" if is_ready or not told else told[0],
    )  # fmt: skip


async def _claims(cluster: KubeCluster, items: Sequence[Whole], here: Selection) -> list[ClaimLine]:
    """Claims, with what was last told of those that wait; events are asked for only then."""
    waits = {item.metadata.uid for item in items if item.status.get("phase") != "Bound"}
    events = sorted((await cluster.list(_EVENTS, here)).items if waits else (), key=_moment)
    told = {one.regarding.get("uid"): one.note for one in events}
    return [_claim(item, told.get(item.metadata.uid, "") if item.metadata.uid in waits else "") for item in items]


def _moment(event: _Event) -> str:
    return event.metadata.creation_timestamp


def _claim(item: Whole, why: str) -> ClaimLine:
    size = (item.status.get("capacity") or {}).get("storage") or ""
    return ClaimLine(item.metadata.name, str(item.status.get("phase") or "Pending"), str(size), why)
