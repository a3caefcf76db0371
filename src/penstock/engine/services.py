"""Services as one machine has them: names for sets of pods, without virtual addresses.

A name leads straight to the pods, so what some Services promise on Kubernetes cannot be kept here (`cannot_serve`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.api.objects import Labels
from penstock.cluster.resources import Lean, Resource
from penstock.engine.podspec import Container, Pod


class ServicePort(msgspec.Struct, frozen=True, rename="camel"):
    """A port of a Service, and the pods' port behind it."""

    port: int
    target_port: int | str | None = None
    name: str = ""
    protocol: str = "TCP"


class ServiceSpec(msgspec.Struct, frozen=True, rename="camel"):
    """Whom a Service stands for."""

    selector: Labels = {}
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    publish_not_ready_addresses: bool = False
    ports: tuple[ServicePort, ...] = ()
    type: str = "ClusterIP"


class Service(Lean, frozen=True):
    """A Service as names need it."""

    spec: ServiceSpec = ServiceSpec()

    @property
    def headless(self) -> bool:
        """Whether Kubernetes, too, answers with the addresses of pods."""
        return self.spec.cluster_ip == "None"

    def selects(self, pod: Pod) -> bool:
        """Whether a pod belongs to it; without a selector nobody does."""
        labels = pod.metadata.labels
        return (
            pod.metadata.namespace == self.metadata.namespace
            and bool(self.spec.selector)
            and all(labels.get(key) == value for key, value in self.spec.selector.items())
        )


SERVICES: Resource[Service] = Resource("", "v1", "services", "Service", Service)


def cannot_serve(service: Service, pods: Iterable[Pod]) -> list[str]:
    """What a Service promises on Kubernetes and cannot keep on one machine, in sentences."""
    what = f"Service {service.metadata.namespace}/{service.metadata.name}"
    if service.spec.type == "ExternalName":
        return [f"{what}: ExternalName is not resolved on one machine; give the pods hostAliases"]
    if not service.spec.selector:
        return [f"{what}: it has no selector, so no pods stand behind its name; give it one, or the pods hostAliases"]
    return [f"{what}: {told}" for told in mismatched_ports(service, pods)]


def mismatched_ports(service: Service, pods: Iterable[Pod]) -> list[str]:
    """Ports of a Service that its pods serve under another number; of a headless one Kubernetes maps none either."""
    if service.headless:
        return []
    targets = {
        (port.port, target)
        for pod in pods
        if service.selects(pod)
        for port in service.spec.ports
        if (target := _target(port, pod)) not in {port.port, None}
    }
    return [
        f"port {port} stands for port {target} of its pods, but on one machine its name leads straight to them; "
        f"call port {target}, or let both be the same"
        for port, target in sorted(targets, key=str)
    ]


def _target(port: ServicePort, pod: Pod) -> int | None:
    """The port of the pod behind a Service's; None when the pod has none of that name."""
    if port.target_port is None or isinstance(port.target_port, int):
        return port.target_port or port.port
    sidecars: Iterable[Container] = (one for one in pod.spec.init_containers if one.is_sidecar)
    served = [served for container in (*pod.spec.containers, *sidecars) for served in container.ports]
    return next((one.container_port for one in served if one.name == port.target_port), None)
