"""The columns of Kubernetes' own kinds, in kubectl's words and order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from penstock.api.objects import Json
from penstock.cli.objects import ages, event
from penstock.cli.objects.columns import AGE, CREATED, NAME, PLAIN, Column
from penstock.cli.objects.fields import NONE, at, condition, items, joined, mapping, number, pairs, selector, text
from penstock.cli.objects.podstatus import pod_state

_UNSET = "<unset>"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_ROLE = "node-role.kubernetes.io/"


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


def _readiness_gates(pod: Json, _now: datetime) -> str:
    gates = [text(one, "conditionType") for one in items(pod, "spec", "readinessGates")]
    met = sum(text(condition(pod, gate), "status") == "True" for gate in gates)
    return f"{met}/{len(gates)}" if gates else NONE


def _external_address(service: Json, _now: datetime) -> str:
    kind, fixed = text(service, "spec", "type"), items(service, "spec", "externalIPs")
    if kind == "ExternalName":
        return text(service, "spec", "externalName")
    given = [text(one, "ip") or text(one, "hostname") for one in items(service, "status", "loadBalancer", "ingress")]
    if kind == "LoadBalancer":
        return ",".join([*given, *fixed]) or "<pending>"
    return joined(fixed)


def _ports(service: Json, _now: datetime) -> str:
    return joined(map(_port, items(service, "spec", "ports")))


def _port(port: Json) -> str:
    on_machines = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{on_machines}/{port.get('protocol', 'TCP')}"


def _amount(thing: Json, _now: datetime) -> str:
    return str(len(mapping(thing, "data")) + len(mapping(thing, "binaryData")))


def _phase(thing: Json, _now: datetime) -> str:
    leaving = at(thing, "metadata", "deletionTimestamp") is not None
    return "Terminating" if leaving else text(thing, "status", "phase")


def _modes(modes: list[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def _claim(volume: Json, _now: datetime) -> str:
    reference = mapping(volume, "spec", "claimRef")
    return f"{text(reference, 'namespace')}/{text(reference, 'name')}" if reference else ""


def _if_bound(title: str, cell: Column) -> Column:
    """A claim's own wish is not shown as if it were what it got."""
    return Column(title, lambda claim, now: cell.cell(claim, now) if text(claim, "spec", "volumeName") else "")


def _machine_status(node: Json, _now: datetime) -> str:
    ready = condition(node, "Ready")
    words = [("Ready" if text(ready, "status") == "True" else "NotReady") if ready else "Unknown"]
    return ",".join([*words, "SchedulingDisabled"] if at(node, "spec", "unschedulable") else words)


def _roles(node: Json, _now: datetime) -> str:
    labels = mapping(node, "metadata", "labels")
    return joined(sorted(label.removeprefix(_ROLE) for label in labels if label.startswith(_ROLE)))


def _address(kind: str) -> Column:
    def cell(node: Json, _now: datetime) -> str:
        found = (text(one, "address") for one in items(node, "status", "addresses") if text(one, "type") == kind)
        return next(found, NONE)

    return Column("INTERNAL-IP" if kind == "InternalIP" else "EXTERNAL-IP", cell, wide=True)


def _job_status(job: Json, _now: datetime) -> str:
    def holds(kind: str) -> bool:
        return text(condition(job, kind), "status") == "True"

    for kind in ("Complete", "Failed"):
        if holds(kind):
            return kind
    if at(job, "metadata", "deletionTimestamp") is not None:
        return "Terminating"
    return next((kind for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if holds(kind)), "Running")


def _completions(job: Json, _now: datetime) -> str:
    done, wanted, beside = (
        number(job, "status", "succeeded"),
        at(job, "spec", "completions"),
        number(job, "spec", "parallelism"),
    )
    if wanted is not None:
        return f"{done}/{wanted}"
    return f"{done}/1 of {beside}" if beside > 1 else f"{done}/1"


def _duration(job: Json, now: datetime) -> str:
    began = ages.moment(at(job, "status", "startTime"))
    ended = ages.moment(at(job, "status", "completionTime"))
    return ages.span(((ended or now) - began).total_seconds()) if began else ""


def _endpoints(thing: Json, _now: datetime) -> str:
    found = [
        f"{text(address, 'ip')}:{port.get('port')}" if port else text(address, "ip")
        for subset in items(thing, "subsets")
        for port in items(subset, "ports") or [{}]
        for address in items(subset, "addresses")
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return (",".join(found[:3]) or NONE) + more


def _slice_ports(thing: Json, _now: datetime) -> str:
    found = [str(one.get("port", "*")) for one in items(thing, "ports")]
    return (",".join(found[:3]) or _UNSET) + (f" + {len(found) - 3} more..." if len(found) > 3 else "")


def _slice_addresses(thing: Json, _now: datetime) -> str:
    found = [address for one in items(thing, "endpoints") for address in items(one, "addresses")]
    return (",".join(found[:3]) or _UNSET) + (f" + {len(found) - 3} more..." if len(found) > 3 else "")


def _owner(thing: Json, _now: datetime) -> str:
    """The controller of a revision, as `statefulset.apps/x`."""
    for one in items(thing, "metadata", "ownerReferences"):
        if at(one, "controller"):
            group = text(one, "apiVersion").rpartition("/")[0]
            return f"{text(one, 'kind').lower()}{'.' if group else ''}{group}/{text(one, 'name')}"
    return NONE


def _subjects(kind: str) -> Column:
    def cell(thing: Json, _now: datetime) -> str:
        return ", ".join(_subject_names(thing, kind))

    return Column({"User": "USERS", "Group": "GROUPS"}.get(kind, "SERVICEACCOUNTS"), cell, wide=True)


def _subject_names(thing: Json, kind: str) -> Iterator[str]:
    for one in items(thing, "subjects"):
        if text(one, "kind") == kind:
            yield "/".join(filter(None, (text(one, "namespace"), text(one, "name"))))


_BINDING = (
    NAME,
    Column("ROLE", lambda thing, _: f"{text(thing, 'roleRef', 'kind')}/{text(thing, 'roleRef', 'name')}"),
    AGE,
    _subjects("User"),
    _subjects("Group"),
    _subjects("ServiceAccount"),
)
_DESIRED = _at("DESIRED", "spec", "replicas", otherwise="0")


def _share(*counted: str) -> Column:
    """READY: how many of those wanted."""
    return Column("READY", lambda one, _: f"{number(one, *counted)}/{number(one, 'spec', 'replicas', otherwise=1)}")


BUILTIN: dict[str, tuple[Column, ...]] = {
    "configmaps": (NAME, Column("DATA", _amount), AGE),
    "controllerrevisions.apps": (NAME, Column("CONTROLLER", _owner), _at("REVISION", "revision"), AGE),
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
    "endpoints": (NAME, Column("ENDPOINTS", _endpoints), AGE),
    "endpointslices.discovery.k8s.io": (
        NAME,
        _at("ADDRESSTYPE", "addressType"),
        Column("PORTS", _slice_ports),
        Column("ENDPOINTS", _slice_addresses),
        AGE,
    ),
    "jobs.batch": (
        NAME,
        Column("STATUS", _job_status),
        Column("COMPLETIONS", _completions),
        Column("DURATION", _duration),
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
        Column("STATUS", _machine_status),
        Column("ROLES", _roles),
        AGE,
        _at("VERSION", "status", "nodeInfo", "kubeletVersion"),
        _address("InternalIP"),
        _address("ExternalIP"),
        _at("OS-IMAGE", "status", "nodeInfo", "osImage", otherwise="<unknown>", wide=True),
        _at("KERNEL-VERSION", "status", "nodeInfo", "kernelVersion", otherwise="<unknown>", wide=True),
        _at("CONTAINER-RUNTIME", "status", "nodeInfo", "containerRuntimeVersion", otherwise="<unknown>", wide=True),
    ),
    "persistentvolumeclaims": (
        NAME,
        Column("STATUS", _phase),
        _at("VOLUME", "spec", "volumeName"),
        _if_bound("CAPACITY", _at("", "status", "capacity", "storage")),
        _if_bound("ACCESS MODES", Column("", lambda one, _: _modes(items(one, "status", "accessModes")))),
        _at("STORAGECLASS", "spec", "storageClassName"),
        _at("VOLUMEATTRIBUTESCLASS", "spec", "volumeAttributesClassName", otherwise=_UNSET),
        AGE,
        _at("VOLUMEMODE", "spec", "volumeMode", otherwise=_UNSET, wide=True),
    ),
    "persistentvolumes": (
        NAME,
        _at("CAPACITY", "spec", "capacity", "storage"),
        Column("ACCESS MODES", lambda one, _: _modes(items(one, "spec", "accessModes"))),
        _at("RECLAIM POLICY", "spec", "persistentVolumeReclaimPolicy"),
        Column("STATUS", _phase),
        Column("CLAIM", _claim),
        _at("STORAGECLASS", "spec", "storageClassName"),
        _at("VOLUMEATTRIBUTESCLASS", "spec", "volumeAttributesClassName", otherwise=_UNSET),
        _at("REASON", "status", "reason"),
        AGE,
        _at("VOLUMEMODE", "spec", "volumeMode", otherwise=_UNSET, wide=True),
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
        Column("READINESS GATES", _readiness_gates, wide=True),
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
    "secrets": (NAME, _at("TYPE", "type", otherwise="Opaque"), Column("DATA", _amount), AGE),
    "serviceaccounts": PLAIN,
    "services": (
        NAME,
        _at("TYPE", "spec", "type", otherwise="ClusterIP"),
        _at("CLUSTER-IP", "spec", "clusterIP", otherwise=NONE),
        Column("EXTERNAL-IP", _external_address),
        Column("PORT(S)", _ports),
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
