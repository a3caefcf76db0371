"""What a pod asks for and we do not do, in words.

Two sorts. `refusals` would let a container run with other rights or another view than it was promised: such a pod must
not start. `remarks` only cost comfort: the pod starts, and whoever looks is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from penstock.api.objects import Json
from penstock.engine.capabilities import UnknownCapability, granted
from penstock.engine.cgroups import Cgroups
from penstock.engine.podspec import Container, Pod, PodSpec, SecurityContext

_PROFILES = (None, "Unconfined", "RuntimeDefault")
_HARMLESS = frozenset({
    # Where a pod runs and when: there is one machine, and our own scheduling.
    "affinity", "nodeSelector", "nodeName", "priority", "priorityClassName", "preemptionPolicy", "schedulerName",
    "schedulingGates", "tolerations", "topologySpreadConstraints", "overhead", "readinessGates",
    # Fetching images: there is no registry.
    "imagePullPolicy", "imagePullSecrets",
    # Nothing here gives a pod a way to the API, so there is nothing to take away.
    "automountServiceAccountToken", "serviceAccount", "enableServiceLinks",
    # Written by Kubernetes' own defaults, or for people.
    "dnsPolicy", "terminationMessagePolicy", "resizePolicy", "apiVersion", "creationTimestamp",
    "fsGroupChangePolicy", "nominatedNodeName", "stdinOnce",
})  # fmt: skip


def refusals(pod: Pod) -> list[str]:
    """What a pod may not start with, each with the place where it is written."""
    spec = pod.spec
    found = [*_shared(spec)]
    for container in (*spec.init_containers, *spec.containers):
        found += [f"container {container.name}: {words}" for words in _own(container)]
    return found


def unknown(spec: Json) -> list[str]:
    """Fields of a pod's spec that the engine has never heard of, as paths: `volumes[0].nfs`."""
    return list(_unknown(spec, _pod_spec(), ""))


def remarks(pod: Pod, cgroups: Cgroups) -> list[str]:
    """What is not done for a pod that may start all the same."""
    found: list[str] = []
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        named = f"container {container.name}"
        for name in sorted(container.resources.limits):
            if name in ("cpu", "memory") and name not in cgroups.controllers:
                found.append(f"{named}: its {name} limit is not enforced: this machine has no {name} controller")
            elif name == "ephemeral-storage":
                found.append(f"{named}: its limit of ephemeral-storage is not enforced")
    return found


def _shared(spec: PodSpec) -> Iterator[str]:
    context = spec.security_context
    if spec.share_process_namespace:
        yield "shareProcessNamespace is not supported yet; give each container what it needs of the others by a volume"
    if not spec.host_users:
        yield "hostUsers: false (user namespaces) is not supported; leave it out"
    if spec.host_network and any(one.get("name", "").startswith("net.") for one in context.sysctls):
        yield "sysctls net.* belong to the machine when hostNetwork is true; leave one of them out"
    yield from _filters(context.seccomp_profile, context.app_armor_profile)


def _own(container: Container) -> Iterator[str]:
    context = container.security_context
    yield from _filters(context.seccomp_profile, context.app_armor_profile)
    yield from _rights(context)
    if container.volume_devices:
        yield "volumeDevices (raw block devices) are not supported; mount the volume instead"
    for name in sorted(container.resources.limits):
        if name not in ("cpu", "memory", "ephemeral-storage"):
            yield f"its limit of {name} cannot be given: this machine hands out cpu and memory only"


def _rights(context: SecurityContext) -> Iterator[str]:
    if context.proc_mount not in (None, "Default", "Unmasked"):
        yield f"procMount {context.proc_mount} is not known; write Default or Unmasked"
    if context.privileged and context.allow_privilege_escalation is False:
        yield "privileged and allowPrivilegeEscalation: false exclude each other; leave one of them out"
    try:
        granted(context.capabilities, privileged=False, offered=frozenset())
    except UnknownCapability as problem:
        yield str(problem)


def _filters(seccomp: Mapping[str, str] | None, app_armor: Mapping[str, str] | None) -> Iterator[str]:
    if (kind := (seccomp or {}).get("type")) not in _PROFILES:
        yield f"seccompProfile {kind} is not supported; write RuntimeDefault or Unconfined"
    if (kind := (app_armor or {}).get("type")) not in (None, "Unconfined"):
        yield f"appArmorProfile {kind} is not supported; write Unconfined"


@cache
def _pod_spec() -> msgspec.inspect.Type:
    """What we know of; found once, for that takes longer than all that is done with it."""
    return msgspec.inspect.type_info(PodSpec)


def _unknown(value: Any, wanted: msgspec.inspect.Type, path: str) -> Iterator[str]:
    """Walk a value along the struct that it is read into."""
    for option in wanted.types if isinstance(wanted, msgspec.inspect.UnionType) else (wanted,):
        if isinstance(option, msgspec.inspect.StructType) and isinstance(value, dict):
            known = {field.encode_name: field.type for field in option.fields}
            for name, part in value.items():
                place = f"{path}.{name}" if path else name
                if name in known:
                    yield from _unknown(part, known[name], place)
                elif name not in _HARMLESS and part not in (None, "", [], {}, False):
                    yield place
        elif isinstance(option, msgspec.inspect.VarTupleType) and isinstance(value, list):
            for number, part in enumerate(value):
                yield from _unknown(part, option.item_type, f"{path}[{number}]")
