"""The columns of Kubernetes' own kinds, in kubectl's words and order."""

from __future__ import annotations

from penstock.cli.objects import cells, event
from penstock.cli.objects.columns import AGE, CREATED, NAME, PLAIN, Column
from penstock.cli.objects.fields import NONE, at, items, mapping, number, pairs, selector, text
from penstock.cli.objects.podstatus import pod_state


def _at(title: str, *path: str | int, otherwise: str = "", wide: bool = False) -> Column:
    """A column that shows one field."""
    return Column(title, lambda thing, _: text(thing, *path, otherwise=otherwise), wide)


def _count(title: str, *path: str) -> Column:
    return Column(title, lambda thing, _: str(number(thing, *path)))


def _template(*, chosen: bool = True) -> tuple[Column, ...]:
    """What the pods of a workload are made of; shown when there is room."""
    containers = ("spec", "template", "spec", "containers")
    return (
        Column("CONTAINERS", lambda thing, _: ",".join(text(one, "name") for one in items(thing, *containers)), True),
        Column("IMAGES", lambda thing, _: ",".join(text(one, "image") for one in items(thing, *containers)), True),
        *([Column("SELECTOR", lambda thing, _: selector(at(thing, "spec", "selector")), True)] if chosen else []),
    )


_BINDING = (
    NAME,
    Column("ROLE", lambda thing, _: f"{text(thing, 'roleRef', 'kind')}/{text(thing, 'roleRef', 'name')}"),
    AGE,
    cells.subjects("User"),
    cells.subjects("Group"),
    cells.subjects("ServiceAccount"),
)
_DESIRED = _at("DESIRED", "spec", "replicas", otherwise="0")


def _share(*counted: str) -> Column:
    """READY: how many of those wanted."""
    return Column("READY", lambda one, _: f"{number(one, *counted)}/{number(one, 'spec', 'replicas', otherwise=1)}")


BUILTIN: dict[str, tuple[Column, ...]] = {
    "configmaps": (NAME, Column("DATA", cells.amount), AGE),
    "controllerrevisions.apps": (NAME, Column("CONTROLLER", cells.owner), _at("REVISION", "revision"), AGE),
    "customresourcedefinitions.apiextensions.k8s.io": (NAME, CREATED),
    "clusterroles.rbac.authorization.k8s.io": (NAME, CREATED),
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "daemonsets.apps": (
        NAME,
        _count("DESIRED", "status", "desiredNumberScheduled"),
        _count("CURRENT", "status", "currentNumberScheduled"),
        _count("READY", "status", "numberReady"),
        _count("UP-TO-DATE", "status", "updatedNumberScheduled"),
        _count("AVAILABLE", "status", "numberAvailable"),
        Column("NODE SELECTOR", lambda one, _: pairs(mapping(one, "spec", "template", "spec", "nodeSelector"))),
        AGE,
        *_template(),
    ),
    "deployments.apps": (
        NAME,
        _share("status", "readyReplicas"),
        _count("UP-TO-DATE", "status", "updatedReplicas"),
        _count("AVAILABLE", "status", "availableReplicas"),
        AGE,
        *_template(),
    ),
    "endpoints": (NAME, Column("ENDPOINTS", cells.endpoints), AGE),
    "endpointslices.discovery.k8s.io": (
        NAME,
        _at("ADDRESSTYPE", "addressType"),
        Column("PORTS", cells.slice_ports),
        Column("ENDPOINTS", cells.slice_addresses),
        AGE,
    ),
    "jobs.batch": (
        NAME,
        Column("STATUS", cells.job_status),
        Column("COMPLETIONS", cells.completions),
        Column("DURATION", cells.duration),
        AGE,
        *_template(),
    ),
    "leases.coordination.k8s.io": (NAME, _at("HOLDER", "spec", "holderIdentity"), AGE),
    "namespaces": (NAME, _at("STATUS", "status", "phase"), AGE),
    "networkpolicies.networking.k8s.io": (
        NAME,
        Column("POD-SELECTOR", lambda one, _: selector(at(one, "spec", "podSelector"))),
        AGE,
    ),
    "nodes": (
        NAME,
        Column("STATUS", cells.machine_status),
        Column("ROLES", cells.roles),
        AGE,
        _at("VERSION", "status", "nodeInfo", "kubeletVersion"),
        cells.address("InternalIP"),
        cells.address("ExternalIP"),
        _at("OS-IMAGE", "status", "nodeInfo", "osImage", otherwise="<unknown>", wide=True),
        _at("KERNEL-VERSION", "status", "nodeInfo", "kernelVersion", otherwise="<unknown>", wide=True),
        _at("CONTAINER-RUNTIME", "status", "nodeInfo", "containerRuntimeVersion", otherwise="<unknown>", wide=True),
    ),
    "persistentvolumeclaims": (
        NAME,
        Column("STATUS", cells.phase),
        _at("VOLUME", "spec", "volumeName"),
        cells.if_bound("CAPACITY", _at("", "status", "capacity", "storage")),
        cells.if_bound("ACCESS MODES", Column("", lambda one, _: cells.modes(items(one, "status", "accessModes")))),
        _at("STORAGECLASS", "spec", "storageClassName"),
        _at("VOLUMEATTRIBUTESCLASS", "spec", "volumeAttributesClassName", otherwise=cells.UNSET),
        AGE,
        _at("VOLUMEMODE", "spec", "volumeMode", otherwise=cells.UNSET, wide=True),
    ),
    "persistentvolumes": (
        NAME,
        _at("CAPACITY", "spec", "capacity", "storage"),
        Column("ACCESS MODES", lambda one, _: cells.modes(items(one, "spec", "accessModes"))),
        _at("RECLAIM POLICY", "spec", "persistentVolumeReclaimPolicy"),
        Column("STATUS", cells.phase),
        Column("CLAIM", cells.claim),
        _at("STORAGECLASS", "spec", "storageClassName"),
        _at("VOLUMEATTRIBUTESCLASS", "spec", "volumeAttributesClassName", otherwise=cells.UNSET),
        _at("REASON", "status", "reason"),
        AGE,
        _at("VOLUMEMODE", "spec", "volumeMode", otherwise=cells.UNSET, wide=True),
    ),
    "poddisruptionbudgets.policy": (
        NAME,
        _at("MIN AVAILABLE", "spec", "minAvailable", otherwise="N/A"),
        _at("MAX UNAVAILABLE", "spec", "maxUnavailable", otherwise="N/A"),
        _count("ALLOWED DISRUPTIONS", "status", "disruptionsAllowed"),
        AGE,
    ),
    "pods": (
        NAME,
        Column("READY", lambda pod, now: pod_state(pod, now).ready),
        Column("STATUS", lambda pod, now: pod_state(pod, now).status),
        Column("RESTARTS", lambda pod, now: pod_state(pod, now).restarts),
        AGE,
        _at("IP", "status", "podIP", otherwise=NONE, wide=True),
        _at("NODE", "spec", "nodeName", otherwise=NONE, wide=True),
        _at("NOMINATED NODE", "status", "nominatedNodeName", otherwise=NONE, wide=True),
        Column("READINESS GATES", cells.readiness_gates, wide=True),
    ),
    "replicasets.apps": (
        NAME,
        _DESIRED,
        _count("CURRENT", "status", "replicas"),
        _count("READY", "status", "readyReplicas"),
        AGE,
        *_template(),
    ),
    "roles.rbac.authorization.k8s.io": (NAME, CREATED),
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "secrets": (NAME, _at("TYPE", "type", otherwise="Opaque"), Column("DATA", cells.amount), AGE),
    "serviceaccounts": PLAIN,
    "services": (
        NAME,
        _at("TYPE", "spec", "type", otherwise="ClusterIP"),
        _at("CLUSTER-IP", "spec", "clusterIP", otherwise=NONE),
        Column("EXTERNAL-IP", cells.external_address),
        Column("PORT(S)", cells.ports),
        AGE,
        Column("SELECTOR", lambda one, _: pairs(mapping(one, "spec", "selector")), wide=True),
    ),
    "statefulsets.apps": (NAME, _share("status", "readyReplicas"), AGE, *_template(chosen=False)),
    "storageclasses.storage.k8s.io": (
        NAME,
        _at("PROVISIONER", "provisioner"),
        _at("RECLAIMPOLICY", "reclaimPolicy", otherwise="Delete"),
        _at("VOLUMEBINDINGMODE", "volumeBindingMode", otherwise="Immediate"),
        Column("ALLOWVOLUMEEXPANSION", lambda one, _: str(bool(at(one, "allowVolumeExpansion"))).lower()),
        AGE,
    ),
}
"""By the full name of the resource."""

_EVENTS = (
    Column("LAST SEEN", event.last_seen_cell),
    Column("TYPE", lambda one, _: event.read(one).type),
    Column("REASON", lambda one, _: event.read(one).reason),
    Column("OBJECT", lambda one, _: event.read(one).object),
    Column("SUBOBJECT", lambda one, _: event.read(one).field, wide=True),
    Column("SOURCE", lambda one, _: event.read(one).source, wide=True),
    Column("MESSAGE", lambda one, _: event.read(one).message),
    Column("FIRST SEEN", event.first_seen_cell, wide=True),
    Column("COUNT", lambda one, _: str(event.read(one).count), wide=True),
    Column("NAME", lambda one, _: text(one, "metadata", "name"), wide=True),
)
BUILTIN["events"] = BUILTIN["events.events.k8s.io"] = _EVENTS
