"""How far a change of a workload has come, in kubectl's words. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.objects import Json
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.fields import condition, name_of, number, text
from penstock.cli.objects.selecting import label
from penstock.cluster.catalogue import Entry
from penstock.operator.nodeset.reservation import CONDITION

_GROUP = "slinky.slurm.net"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it has come."""

    sentence: str
    done: bool = False


def progress(entry: Entry, item: Json) -> Progress:
    """How far it has come; `Complaint` when it will not, or the kind knows no rollouts."""
    name, status = name_of(item), item.get("status") or {}
    if number(status, "observedGeneration") < number(item, "metadata", "generation"):
        return Progress(f"Waiting for {entry.singular} spec update to be observed...")
    if entry.name == f"nodesets.{_GROUP}":
        return _node_set(entry, item)
    if entry.group == _GROUP:
        return _ours(entry, item)
    wanted = number(item, "spec", "replicas", otherwise=1)
    match entry.name:
        case "deployments.apps":
            return _deployment(name, status, wanted)
        case "statefulsets.apps":
            return _stateful_set(name, item, wanted)
        case "daemonsets.apps":
            return _daemon_set(name, status)
    raise Complaint(f"{label(entry, name)}: there are no rollouts of {entry.plural}")


def _deployment(name: str, status: Json, wanted: int) -> Progress:
    told = condition({"status": status}, "Progressing")
    if text(told, "reason") == "ProgressDeadlineExceeded":
        raise Complaint(
            f'deployment "{name}" exceeded its progress deadline; look with `penstock describe deploy/{name}`'
        )
    updated, replicas, available = (number(status, f"{key}eplicas") for key in ("updatedR", "r", "availableR"))
    waiting = f'Waiting for deployment "{name}" rollout to finish:'
    if updated < wanted:
        return Progress(f"{waiting} {updated} out of {wanted} new replicas have been updated...")
    if replicas > updated:
        return Progress(f"{waiting} {replicas - updated} old replicas are pending termination...")
    if available < updated:
        return Progress(f"{waiting} {available} of {updated} updated replicas are available...")
    return Progress(f'deployment "{name}" successfully rolled out', done=True)


def _stateful_set(name: str, item: Json, wanted: int) -> Progress:
    if text(item, "spec", "updateStrategy", "type", otherwise="RollingUpdate") != "RollingUpdate":
        raise Complaint(f"statefulset {name} is updated by deleting its pods (OnDelete); there is nothing to wait for")
    status = item.get("status") or {}
    ready, updated = number(status, "readyReplicas"), number(status, "updatedReplicas")
    if ready < wanted:
        return Progress(f"Waiting for {wanted - ready} pods to be ready...")
    partition = number(item, "spec", "updateStrategy", "rollingUpdate", "partition")
    if partition and updated < wanted - partition:
        told = f"{updated} out of {wanted - partition} new pods have been updated"
        return Progress(f"Waiting for partitioned roll out to finish: {told}...")
    current, update = text(status, "currentRevision"), text(status, "updateRevision")
    if not partition and current != update:
        return Progress(f"waiting for statefulset rolling update to complete {updated} pods at revision {update}...")
    return Progress(f"statefulset rolling update complete {wanted} pods at revision {update or current}...", done=True)


def _daemon_set(name: str, status: Json) -> Progress:
    wanted, updated = number(status, "desiredNumberScheduled"), number(status, "updatedNumberScheduled")
    available, waiting = number(status, "numberAvailable"), f'Waiting for daemon set "{name}" rollout to finish:'
    if updated < wanted:
        return Progress(f"{waiting} {updated} out of {wanted} new pods have been updated...")
    if available < wanted:
        return Progress(f"{waiting} {available} of {wanted} updated pods are available...")
    return Progress(f'daemon set "{name}" successfully rolled out', done=True)


def _node_set(entry: Entry, item: Json) -> Progress:
    """Workers of an old template go when they are idle, which may take as long as their jobs do."""
    who, status = f'{entry.singular} "{name_of(item)}"', item.get("status") or {}
    degraded = condition(item, "Degraded")
    if text(degraded, "reason") == "UnknownRevision" and text(degraded, "status") == "True":
        raise Complaint(f"{who}: {text(degraded, 'message')}")
    updated, wanted = number(status, "updatedReplicas"), number(status, "desired")
    if updated >= wanted:
        return _ours(entry, item)
    there = number(status, "replicas") >= wanted
    if there and text(item, "spec", "updateStrategy", "type") == "OnDelete":
        told = f"{updated} of {wanted} workers are of the newest template"
        raise Complaint(f"{who} is updated by deleting its workers (OnDelete): {told}; there is nothing to wait for")
    moving = _window(item) or text(condition(item, "Progressing"), "message")
    told = f"{updated} out of {wanted} workers are of the newest template{f': {moving}' if moving else '...'}"
    return Progress(f"Waiting for {who} rollout to finish: {told}")


def _window(item: Json) -> str:
    """When old workers are replaced that wait for their maintenance window; nothing while something goes on in it."""
    scheduled = text(item, "spec", "updateStrategy", "type") == "ScheduledUpdate"
    told, moving = condition(item, CONDITION), condition(item, "Progressing")
    if not scheduled or told is None or text(moving, "status") == "True":
        return ""
    amiss = "" if text(told, "status") == "True" else f" ({text(told, 'reason')})"
    return f"the others are replaced in the maintenance window{amiss}: {text(told, 'message')}"


def _ours(entry: Entry, item: Json) -> Progress:
    """Our kinds say it themselves, in conditions."""
    who = f'{entry.singular} "{name_of(item)}"'
    ready, moving = condition(item, "Ready"), condition(item, "Progressing")
    for one in (moving, ready):
        wanted = "False" if one is moving else "True"
        if one is not None and text(one, "status") != wanted:
            words = text(one, "message") or text(one, "reason") or f"{text(one, 'type')} is {text(one, 'status')}"
            return Progress(f"Waiting for {who} rollout to finish: {words}")
    if ready is None:
        return Progress(f"Waiting for {who} rollout to begin: nobody has looked at it yet")
    return Progress(f"{who} successfully rolled out", done=True)
