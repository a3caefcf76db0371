"""The resources that the operator reads, each with just the fields that it decides on."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import force_setattr

from penstock.api.kinds import GROUP, KINDS, VERSION
from penstock.api.objects import Json, Labels
from penstock.cluster.resources import Lean, Meta, Resource
from penstock.slurm.sharing import shared


class Custom(Lean, frozen=True):
    """An object of one of our kinds, as the API server has it."""

    spec: Json = {}
    status: Json = {}


class TemplateMetadata(msgspec.Struct, frozen=True):
    """What the pods of a workload carry; we read the hashes of keys and configuration there."""

    annotations: Labels = {}


class Template(msgspec.Struct, frozen=True):
    """What the pods of a workload are made from."""

    metadata: TemplateMetadata = TemplateMetadata()


class WorkloadSpec(msgspec.Struct, frozen=True):
    """What was asked for."""

    replicas: int = 1
    template: Template = Template()


class WorkloadStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What there is."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0


class Workload(Lean, frozen=True):
    """A StatefulSet or Deployment: how far it has come."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()

    @property
    def rolled_out(self) -> bool:
        """All pods are of the newest template, and ready."""
        status, wanted = self.status, self.spec.replicas
        current = status.observed_generation >= self.metadata.generation
        return current and status.updated_replicas >= wanted and status.ready_replicas >= wanted == status.replicas


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """Why a container does not run."""

    reason: str = ""
    message: str = ""


class ContainerState(msgspec.Struct, frozen=True, gc=False):
    """What a container does; only waiting interests us."""

    waiting: Waiting | None = None


class ContainerStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A container of a pod."""

    name: str
    state: ContainerState = ContainerState()
    restart_count: int = 0


class PodCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One condition of a pod."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where a pod runs, and under which name."""

    node_name: str = ""
    hostname: str = ""
    host_network: bool = False


class PodStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How a pod is."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()

    def __post_init__(self) -> None:
        """Most pods say the same: their conditions are two fifths of what we keep of them."""
        force_setattr(self, "conditions", tuple(map(shared, self.conditions)))
        force_setattr(self, "container_statuses", shared(self.container_statuses))


class Pod(Lean, frozen=True):
    """A pod of ours."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def ready_since(self) -> str | None:
        """When it became ready, as Kubernetes writes times; None when it is not."""
        for condition in self.status.conditions:
            if condition.type == "Ready" and condition.status == "True":
                return condition.last_transition_time or ""
        return None

    @property
    def leaving(self) -> bool:
        """Somebody deleted it, and it is not gone yet."""
        return self.metadata.deletion_timestamp is not None

    @property
    def ended(self) -> bool:
        """Its containers have ended for good."""
        return self.status.phase in {"Failed", "Succeeded"}

    @property
    def trouble(self) -> str:
        """Why it does not come up, in Kubernetes' words; empty when nothing is known to be wrong."""
        for container in (*self.status.init_container_statuses, *self.status.container_statuses):
            waiting = container.state.waiting
            if waiting and waiting.reason not in {"", "ContainerCreating", "PodInitializing"}:
                return f"{container.name}: {waiting.reason}{': ' if waiting.message else ''}{waiting.message}"
        for condition in self.status.conditions:
            if condition.type == "PodScheduled" and condition.status == "False":
                return f"{condition.reason}: {condition.message}"
        return ""


class Taint(msgspec.Struct, frozen=True):
    """What keeps pods away from a machine."""

    key: str
    effect: str
    value: str = ""


class MachineSpec(msgspec.Struct, frozen=True):
    """What a machine takes."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class MachineCondition(msgspec.Struct, frozen=True, gc=False):
    """One condition of a machine, without its times: a heartbeat is no change."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""


class MachineStatus(msgspec.Struct, frozen=True):
    """How a machine is."""

    conditions: tuple[MachineCondition, ...] = ()


class Machine(Lean, frozen=True):
    """A Kubernetes node."""

    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()


class ClaimResources(msgspec.Struct, frozen=True):
    """How much a claim asks for."""

    requests: Labels = {}


class ClaimSpec(msgspec.Struct, frozen=True):
    """What a claim asks for."""

    resources: ClaimResources = ClaimResources()


class Claim(Lean, frozen=True):
    """A PersistentVolumeClaim of a worker."""

    spec: ClaimSpec = ClaimSpec()


class JobSpec(msgspec.Struct, frozen=True):
    """What a Job is to do."""

    suspend: bool = False


class JobCondition(msgspec.Struct, frozen=True):
    """One condition of a Job."""

    type: str
    status: str = ""


class JobStatus(msgspec.Struct, frozen=True):
    """How far a Job has come."""

    conditions: tuple[JobCondition, ...] = ()


class Job(Lean, frozen=True):
    """A Job of ours."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def succeeded(self) -> bool:
        """It is done."""
        return JobCondition("Complete", "True") in self.status.conditions

    @property
    def failed(self) -> bool:
        """It has given up."""
        return JobCondition("Failed", "True") in self.status.conditions


class Revision(Lean, frozen=True):
    """A ControllerRevision: a template that a NodeSet has, or had."""

    revision: int = 0
    """Its number; the newest has the highest."""
    data: Any = None
    """Somebody else may have put anything there."""


class Content(Lean, frozen=True):
    """A ConfigMap or Secret with all that is in it."""

    data: Labels = {}


class Hand(msgspec.Struct, frozen=True):
    """Who had a hand in an object, and when, by the server's clock."""

    manager: str
    time: str = ""


class HandledMeta(Meta, frozen=True, rename="camel"):
    """Metadata with those who wrote."""

    managed_fields: tuple[Hand, ...] = ()


class Handled(Content, frozen=True):
    """A ConfigMap or Secret with all that is in it, and who put it there."""

    metadata: HandledMeta


CUSTOMS: dict[str, Resource[Custom]] = {
    info.kind: Resource(GROUP, VERSION, info.plural, info.kind, Custom) for info in KINDS
}
"""Our kinds by name."""

PODS = Resource("", "v1", "pods", "Pod", Pod)
MACHINES = Resource("", "v1", "nodes", "Node", Machine, namespaced=False)
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", Claim)
SERVICES = Resource("", "v1", "services", "Service", Lean)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", Lean)
SECRETS = Resource("", "v1", "secrets", "Secret", Lean)
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet", Workload)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", Workload)
JOBS = Resource("batch", "v1", "jobs", "Job", Job)
REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision", Revision)
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", Lean)
SERVICE_MONITORS = Resource("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor", Lean)
"""Not watched: most clusters have no such kind."""

OWNED: dict[str, Resource[Any]] = {
    resource.kind: resource
    for resource in (SERVICES, CONFIG_MAPS, SECRETS, STATEFUL_SETS, DEPLOYMENTS, BUDGETS, CLAIMS, SERVICE_MONITORS)
}
"""What the kinds own beside workers, by kind."""
