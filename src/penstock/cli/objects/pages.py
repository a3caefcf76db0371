"""The middle of a page of `describe`, for kinds that deserve better than a list of their fields."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import datetime
from typing import Any

from penstock.api.objects import Json
from penstock.cli.objects import ages, podpage
from penstock.cli.objects.builtin_columns import BUILTIN
from penstock.cli.objects.fields import NONE, at, items, mapping, number, pairs, text
from penstock.cli.objects.outline import Block

Page = Callable[[Block, Json, datetime], None]

_SHORT_STATUS = ("conditions", "selector", "nodeSetHash", "ordinalToNode", "observedGeneration")
_IN_SLURM = (("idle", "slurmIdle"), ("allocated", "slurmAllocated"), ("down", "slurmDown"), ("draining", "slurmDrain"))


def _node_set(block: Block, item: Json, _now: datetime) -> None:
    block.say("Controller", text(item, "spec", "controllerRef", "name", otherwise=NONE))
    status = mapping(item, "status")
    wanted = number(item, "spec", "replicas", otherwise=number(status, "desired", otherwise=1))
    block.say(
        "Workers", f"{wanted} wanted, {number(status, 'replicas')} there, {number(status, 'readyReplicas')} ready"
    )
    in_slurm = [
        ("idle", "slurmIdle"),
        ("allocated", "slurmAllocated"),
        ("down", "slurmDown"),
        ("draining", "slurmDrain"),
    ]
    block.say("In Slurm", ", ".join(f"{number(status, key)} {word}" for word, key in in_slurm))
    block.say("Updated", f"{number(status, 'updatedReplicas')} of the newest template")
    block.say("Pods", text(status, "selector", otherwise=NONE))
    block.show("Spec", {key: value for key, value in mapping(item, "spec").items() if key != "controllerRef"})


def _ours(block: Block, item: Json, _now: datetime) -> None:
    """A Controller, LoginSet, RestApi, Accounting or Token."""
    block.show("Spec", mapping(item, "spec"))
    status = {key: value for key, value in mapping(item, "status").items() if key not in _SHORT_STATUS}
    if status:
        block.show("Status", status)


def _workload(block: Block, item: Json, now: datetime) -> None:
    status = mapping(item, "status")
    block.say(
        "Replicas",
        f"{number(item, 'spec', 'replicas', otherwise=1)} wanted, {number(status, 'replicas')} there, "
        f"{number(status, 'updatedReplicas')} updated, {number(status, 'readyReplicas')} ready",
    )
    block.say("Selector", pairs(mapping(item, "spec", "selector", "matchLabels")))
    strategy = mapping(item, "spec", "updateStrategy") or mapping(item, "spec", "strategy")
    block.say("Strategy", text(strategy, "type", otherwise=NONE))
    template = block.block("Pod Template")
    template.say("Labels", pairs(mapping(item, "spec", "template", "metadata", "labels")))
    podpage.template(template, mapping(item, "spec", "template", "spec"), now)


def _service(block: Block, item: Json, _now: datetime) -> None:
    block.say("Selector", pairs(mapping(item, "spec", "selector")))
    block.say("Type", text(item, "spec", "type", otherwise="ClusterIP"))
    block.say("IP", text(item, "spec", "clusterIP", otherwise=NONE))
    for port in items(item, "spec", "ports"):
        name = text(port, "name", otherwise="<unset>")
        node = f", port {port['nodePort']} of every machine" if port.get("nodePort") else ""
        to = text(port, "targetPort", otherwise=text(port, "port"))
        block.say("Port", f"{name} {port.get('port')}/{port.get('protocol', 'TCP')} -> {to}{node}")
    if items(item, "spec", "externalIPs"):
        block.say("External IPs", items(item, "spec", "externalIPs"))


def _claim(block: Block, item: Json, now: datetime) -> None:
    cells = {column.title: column.cell(item, now) for column in BUILTIN["persistentvolumeclaims"]}
    block.say("Status", cells["STATUS"] or NONE)
    block.say("Asks For", text(item, "spec", "resources", "requests", "storage", otherwise=NONE))
    block.say("Volume", cells["VOLUME"] or NONE)
    block.say("Capacity", cells["CAPACITY"] or NONE)
    block.say("Access Modes", cells["ACCESS MODES"] or ", ".join(items(item, "spec", "accessModes")) or NONE)
    block.say("StorageClass", cells["STORAGECLASS"] or NONE)
    block.say("VolumeMode", cells["VOLUMEMODE"])


def _machine(block: Block, item: Json, now: datetime) -> None:
    cells = {column.title: column.cell(item, now) for column in BUILTIN["nodes"]}
    block.say("Status", cells["STATUS"])
    block.say("Roles", cells["ROLES"])
    taints = [f"{text(one, 'key')}={text(one, 'value')}:{text(one, 'effect')}" for one in items(item, "spec", "taints")]
    block.say("Taints", taints or NONE)
    block.say("Unschedulable", str(bool(at(item, "spec", "unschedulable"))).lower())
    block.show("Addresses", {text(one, "type"): text(one, "address") for one in items(item, "status", "addresses")})
    block.show("Capacity", mapping(item, "status", "capacity"))
    block.show("Allocatable", mapping(item, "status", "allocatable"))
    block.show("System Info", mapping(item, "status", "nodeInfo"))


def _config_map(block: Block, item: Json, _now: datetime) -> None:
    data = block.block("Data")
    for key, value in sorted(mapping(item, "data").items()):
        data.say("", f"{key}:")
        data.say("", "----")
        data.say("", value)
        data.say("", "")
    for key, value in sorted(mapping(item, "binaryData").items()):
        data.say(key, f"{_size(value)} bytes")


def _secret(block: Block, item: Json, _now: datetime) -> None:
    """Sizes only: pages end up on screens and in tickets."""
    block.say("Type", text(item, "type", otherwise="Opaque"))
    block.show("Data", {key: f"{_size(value)} bytes" for key, value in sorted(mapping(item, "data").items())})


def _size(encoded: Any) -> int:
    try:
        return len(base64.b64decode(str(encoded)))
    except binascii.Error:
        return len(str(encoded))


def _lease(block: Block, item: Json, now: datetime) -> None:
    block.say("Holder", text(item, "spec", "holderIdentity", otherwise=NONE))
    renewed = at(item, "spec", "renewTime")
    block.say("Renewed", f"{ages.age(renewed, now)} ago" if renewed else NONE)
    block.say("Lasts", f"{number(item, 'spec', 'leaseDurationSeconds')} s")


_GROUP = "slinky.slurm.net"
PAGES: dict[str, Page] = {
    "pods": podpage.pod,
    f"nodesets.{_GROUP}": _node_set,
    **{f"{plural}.{_GROUP}": _ours for plural in ("controllers", "loginsets", "restapis", "accountings", "tokens")},
    **dict.fromkeys(("statefulsets.apps", "deployments.apps", "replicasets.apps", "daemonsets.apps"), _workload),
    "services": _service,
    "persistentvolumeclaims": _claim,
    "nodes": _machine,
    "configmaps": _config_map,
    "secrets": _secret,
    "leases.coordination.k8s.io": _lease,
}
"""By the full name of the resource."""
