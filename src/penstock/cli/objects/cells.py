"""What stands in the cells of Kubernetes' own kinds, where it takes more than to show a field."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from penstock.api.objects import Json
from penstock.cli.objects import ages
from penstock.cli.objects.columns import Column
from penstock.cli.objects.fields import NONE, at, condition, items, joined, mapping, number, text

UNSET = "<unset>"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_ROLE = "node-role.kubernetes.io/"


def readiness_gates(pod: Json, _now: datetime) -> str:
    """How many of a pod's readiness gates are open."""
    gates = [text(one, "conditionType") for one in items(pod, "spec", "readinessGates")]
    met = sum(text(condition(pod, gate), "status") == "True" for gate in gates)
    return f"{met}/{len(gates)}" if gates else NONE


def external_address(service: Json, _now: datetime) -> str:
    """Where a Service can be reached from outside."""
    kind, fixed = text(service, "spec", "type"), items(service, "spec", "externalIPs")
    if kind == "ExternalName":
        return text(service, "spec", "externalName")
    given = [text(one, "ip") or text(one, "hostname") for one in items(service, "status", "loadBalancer", "ingress")]
    if kind == "LoadBalancer":
        return ",".join([*given, *fixed]) or "<pending>"
    return joined(fixed)


def ports(service: Json, _now: datetime) -> str:
    """The ports of a Service."""
    return joined(map(_port, items(service, "spec", "ports")))


def _port(port: Json) -> str:
    on_machines = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{on_machines}/{port.get('protocol', 'TCP')}"


def amount(thing: Json, _now: datetime) -> str:
    """How many keys a ConfigMap or Secret has."""
    return str(len(mapping(thing, "data")) + len(mapping(thing, "binaryData")))


def phase(thing: Json, _now: datetime) -> str:
    """The phase, unless it is being deleted."""
    leaving = at(thing, "metadata", "deletionTimestamp") is not None
    return "Terminating" if leaving else text(thing, "status", "phase")


def modes(given: list[str]) -> str:
    """Access modes in kubectl's short words."""
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def claim(volume: Json, _now: datetime) -> str:
    """The claim that has a volume."""
    reference = mapping(volume, "spec", "claimRef")
    return f"{text(reference, 'namespace')}/{text(reference, 'name')}" if reference else ""


def if_bound(title: str, cell: Column) -> Column:
    """A claim's own wish is not shown as if it were what it got."""
    return Column(title, lambda claim, now: cell.cell(claim, now) if text(claim, "spec", "volumeName") else "")


def machine_status(node: Json, _now: datetime) -> str:
    """Whether a machine is ready, and whether it takes new pods."""
    ready = condition(node, "Ready")
    words = [("Ready" if text(ready, "status") == "True" else "NotReady") if ready else "Unknown"]
    return ",".join([*words, "SchedulingDisabled"] if at(node, "spec", "unschedulable") else words)


def roles(node: Json, _now: datetime) -> str:
    """What a machine is there for, by its labels."""
    labels = mapping(node, "metadata", "labels")
    return joined(sorted(label.removeprefix(_ROLE) for label in labels if label.startswith(_ROLE)))


def address(kind: str) -> Column:
    """The column of a machine's address of a kind."""

    def cell(node: Json, _now: datetime) -> str:
        found = (text(one, "address") for one in items(node, "status", "addresses") if text(one, "type") == kind)
        return next(found, NONE)

    return Column("INTERNAL-IP" if kind == "InternalIP" else "EXTERNAL-IP", cell, wide=True)


def job_status(job: Json, _now: datetime) -> str:
    """How far a Job has come, in a word."""

    def holds(kind: str) -> bool:
        return text(condition(job, kind), "status") == "True"

    for kind in ("Complete", "Failed"):
        if holds(kind):
            return kind
    if at(job, "metadata", "deletionTimestamp") is not None:
        return "Terminating"
    return next((kind for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if holds(kind)), "Running")


def completions(job: Json, _now: datetime) -> str:
    """How many pods of a Job have succeeded."""
    done, wanted, beside = (
        number(job, "status", "succeeded"),
        at(job, "spec", "completions"),
        number(job, "spec", "parallelism"),
    )
    if wanted is not None:
        return f"{done}/{wanted}"
    return f"{done}/1 of {beside}" if beside > 1 else f"{done}/1"


def duration(job: Json, now: datetime) -> str:
    """How long a Job has run, or ran."""
    began = ages.moment(at(job, "status", "startTime"))
    ended = ages.moment(at(job, "status", "completionTime"))
    return ages.span(((ended or now) - began).total_seconds()) if began else ""


def endpoints(thing: Json, _now: datetime) -> str:
    """The first three addresses of Endpoints."""
    found = [
        f"{text(address, 'ip')}:{port.get('port')}" if port else text(address, "ip")
        for subset in items(thing, "subsets")
        for port in items(subset, "ports") or [{}]
        for address in items(subset, "addresses")
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return (",".join(found[:3]) or NONE) + more


def slice_ports(thing: Json, _now: datetime) -> str:
    """The first three ports of an EndpointSlice."""
    found = [str(one.get("port", "*")) for one in items(thing, "ports")]
    return (",".join(found[:3]) or UNSET) + (f" + {len(found) - 3} more..." if len(found) > 3 else "")


def slice_addresses(thing: Json, _now: datetime) -> str:
    """The first three addresses of an EndpointSlice."""
    found = [address for one in items(thing, "endpoints") for address in items(one, "addresses")]
    return (",".join(found[:3]) or UNSET) + (f" + {len(found) - 3} more..." if len(found) > 3 else "")


def owner(thing: Json, _now: datetime) -> str:
    """The controller of a revision, as `statefulset.apps/x`."""
    for one in items(thing, "metadata", "ownerReferences"):
        if at(one, "controller"):
            group = text(one, "apiVersion").rpartition("/")[0]
            return f"{text(one, 'kind').lower()}{'.' if group else ''}{group}/{text(one, 'name')}"
    return NONE


def subjects(kind: str) -> Column:
    """The column of those whom a binding is for, of a kind."""

    def cell(thing: Json, _now: datetime) -> str:
        return ", ".join(_subject_names(thing, kind))

    return Column({"User": "USERS", "Group": "GROUPS"}.get(kind, "SERVICEACCOUNTS"), cell, wide=True)


def _subject_names(thing: Json, kind: str) -> Iterator[str]:
    for one in items(thing, "subjects"):
        if text(one, "kind") == kind:
            yield "/".join(filter(None, (text(one, "namespace"), text(one, "name"))))
