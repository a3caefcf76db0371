"""What a pod is told about itself: `fieldRef` and `resourceFieldRef`, for variables and for files.

The values are kubelet's, letter by letter: scripts parse them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING

from penstock.api.scalars import Quantity, ScalarError
from penstock.engine.podspec import Container, Pod, ResourceFieldRef

_ONE_OF_MANY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
# As Go's strconv.Quote writes them.
_ESCAPES = {'"': '\\"', "\\": "\\\\"} | {
    letter: f"\\{name}" for letter, name in zip("\a\b\f\n\r\t\v", "abfnrtv", strict=True)
}


class NoSuchField(Exception):
    """A pod asks for something that it cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the engine knows of a pod before its status says so, and of the machine."""

    pod_ip: str = ""
    host_ip: str = ""
    node_name: str = ""
    allocatable: Mapping[str, str | int | float] = field(default_factory=dict)
    """What the machine has to give; a container without a limit has all of it."""


def field_value(pod: Pod, path: str, facts: Facts) -> str:
    """The value of a field of the pod: `metadata.name`, `metadata.labels['app']`, `status.podIP`."""
    if one := _ONE_OF_MANY.fullmatch(path):
        of_kind = pod.metadata.labels if one[1] == "labels" else pod.metadata.annotations
        return of_kind.get(one[2], "")
    if path not in _FIELDS:
        known = ", ".join(sorted(_FIELDS))
        raise NoSuchField(f"pod {_name(pod)}: no field \"{path}\" to tell; there are {known} and metadata.labels['…']")
    return _FIELDS[path](pod, facts)


_FIELDS: dict[str, Callable[[Pod, Facts], str]] = {
    "metadata.name": lambda pod, _: pod.metadata.name,
    "metadata.namespace": lambda pod, _: pod.metadata.namespace,
    "metadata.uid": lambda pod, _: pod.metadata.uid,
    "metadata.labels": lambda pod, _: _listed(pod.metadata.labels),
    "metadata.annotations": lambda pod, _: _listed(pod.metadata.annotations),
    "spec.nodeName": lambda pod, facts: facts.node_name or pod.spec.node_name,
    "spec.serviceAccountName": lambda pod, _: pod.spec.service_account_name or "default",
    "status.podIP": lambda pod, facts: facts.pod_ip or str(pod.status.get("podIP") or ""),
    "status.podIPs": lambda pod, facts: facts.pod_ip or str(pod.status.get("podIP") or ""),
    "status.hostIP": lambda pod, facts: facts.host_ip or str(pod.status.get("hostIP") or ""),
    "status.hostIPs": lambda pod, facts: facts.host_ip or str(pod.status.get("hostIP") or ""),
}


def resource_value(pod: Pod, ref: ResourceFieldRef, facts: Facts, *, container: Container | None = None) -> str:
    """A limit or request in units of the divisor, rounded up, of the container named or else of the one that asks."""
    kind, _, resource = ref.resource.partition(".")
    if kind not in {"limits", "requests"} or not resource:
        raise NoSuchField(f'pod {_name(pod)}: "{ref.resource}" is no resource; write for instance limits.cpu')
    asked = _asked(pod, ref, container)
    try:
        amount = Quantity.parse(_amount(asked, kind, resource, facts)).value
        divisor = Quantity.parse(ref.divisor).value or 1
    except ScalarError as problem:
        raise NoSuchField(f"pod {_name(pod)}, container {asked.name}, {ref.resource}: {problem}") from problem
    return str(int((amount / divisor).to_integral_value(ROUND_CEILING)))


def _asked(pod: Pod, ref: ResourceFieldRef, asking: Container | None) -> Container:
    if not ref.container_name and asking is not None:
        return asking
    everybody = (*pod.spec.containers, *pod.spec.init_containers)
    found = next((one for one in everybody if one.name == ref.container_name), None)
    if found is None:
        raise NoSuchField(f'pod {_name(pod)}: {ref.resource} of container "{ref.container_name}", which it has not')
    return found


def _amount(container: Container, kind: str, resource: str, facts: Facts) -> str | int | float:
    limits, requests = container.resources.limits, container.resources.requests
    if kind == "requests":
        # Kubernetes fills in requests from limits.
        return requests.get(resource, limits.get(resource, 0))
    return limits.get(resource, facts.allocatable.get(resource, 0))


def _listed(texts: Mapping[str, str]) -> str:
    return "\n".join(f'{key}="{_quoted(value)}"' for key, value in sorted(texts.items()))


def _quoted(text: str) -> str:
    return "".join(_ESCAPES.get(letter) or _shown(letter) for letter in text)


def _shown(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _name(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
