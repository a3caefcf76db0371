"""What the controllers of workloads read: each kind with just the fields that they decide on.

Templates stay raw, for what Kubernetes knows about pods changes with every release.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import msgspec

from penstock.api.kinds import GROUP, KINDS, VERSION
from penstock.api.objects import Json, Labels
from penstock.cluster.events import EVENTS
from penstock.cluster.resources import Lean, Resource

MANAGER = "kube-controller-manager"
"""The field manager of all that the controllers write: people who look there find the name that they know."""
_ORDINAL = re.compile(r"(.+)-(0|[1-9][0-9]*)")


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """Names as Kubernetes writes them."""


class Condition(_Part, frozen=True):
    """Something that is said of an object."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_update_time: str | None = None


class ClaimSource(_Part, frozen=True):
    """A claim as a volume."""

    claim_name: str


class PodVolume(_Part, frozen=True):
    """A volume of a pod; only claims interest us."""

    name: str
    persistent_volume_claim: ClaimSource | None = None


class Toleration(_Part, frozen=True):
    """A taint that a pod does not mind."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class PodSpec(_Part, frozen=True):
    """Where a pod may run, and what it mounts."""

    node_name: str = ""
    node_selector: Labels = {}
    affinity: Json | None = None
    tolerations: tuple[Toleration, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    scheduling_gates: tuple[Json, ...] = ()


class PodStatus(_Part, frozen=True):
    """How a pod is."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Pod(Lean, frozen=True):
    """A pod as controllers see it."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def leaving(self) -> bool:
        """Somebody deleted it, and it is not gone yet."""
        return self.metadata.deletion_timestamp is not None

    @property
    def ended(self) -> bool:
        """Its containers have ended for good."""
        return self.status.phase in {"Failed", "Succeeded"}

    @property
    def ready(self) -> bool:
        """It runs and says that it is ready."""
        return self.status.phase == "Running" and self._readiness is not None

    @property
    def ready_since(self) -> str:
        """When it became ready, as Kubernetes writes times; empty when it is not, or nobody says."""
        return (self._readiness.last_transition_time or "") if self._readiness else ""

    def available_in(self, min_ready_seconds: int, now: datetime) -> float | None:
        """Seconds until it has been ready for long enough: 0 when it has, None when it is not ready."""
        if not self.ready:
            return None
        since = self.ready_since
        if min_ready_seconds <= 0 or not since:
            return 0.0
        return max(0.0, min_ready_seconds - (now - datetime.fromisoformat(since)).total_seconds())

    def available(self, min_ready_seconds: int, now: datetime) -> bool:
        """Whether it has been ready for long enough."""
        return self.available_in(min_ready_seconds, now) == 0

    @property
    def ordinal(self) -> int | None:
        """The number at the end of its name, if it has one as StatefulSets give them."""
        found = _ORDINAL.fullmatch(self.metadata.name)
        return int(found[2]) if found else None

    @property
    def claims(self) -> set[str]:
        """The names of the claims that it mounts."""
        return {one.persistent_volume_claim.claim_name for one in self.spec.volumes if one.persistent_volume_claim}

    @property
    def _readiness(self) -> Condition | None:
        return next((one for one in self.status.conditions if one.type == "Ready" and one.status == "True"), None)


class TemplateMeta(_Part, frozen=True):
    """What made pods carry."""

    labels: Labels = {}
    annotations: Labels = {}


class Template(_Part, frozen=True):
    """What pods are made from."""

    metadata: TemplateMeta = TemplateMeta()
    spec: Json = {}


class Retention(_Part, frozen=True):
    """What becomes of the claims of a StatefulSet: `Retain` or `Delete`."""

    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class Ordinals(_Part, frozen=True):
    """Where the numbers of pods begin."""

    start: int = 0


class RollingUpdate(_Part, frozen=True):
    """How far, and by how much, an update may go at once."""

    partition: int = 0
    max_surge: int | str = "25%"
    max_unavailable: int | str | None = None


class Strategy(_Part, frozen=True):
    """How pods are replaced when their template changes."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class StatefulSetSpec(_Part, frozen=True):
    """What was asked for."""

    selector: Json = {}
    template: Json = {}
    replicas: int = 1
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: Strategy = Strategy()
    volume_claim_templates: tuple[Json, ...] = ()
    persistent_volume_claim_retention_policy: Retention = Retention()
    ordinals: Ordinals = Ordinals()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10


class StatefulSet(Lean, frozen=True):
    """A StatefulSet."""

    spec: StatefulSetSpec = StatefulSetSpec()
    status: Json = {}


class DeploymentSpec(_Part, frozen=True):
    """What was asked for."""

    selector: Json = {}
    template: Json = {}
    replicas: int = 1
    strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    paused: bool = False
    revision_history_limit: int = 10
    progress_deadline_seconds: int = 600


class Deployment(Lean, frozen=True):
    """A Deployment."""

    spec: DeploymentSpec = DeploymentSpec()
    status: Json = {}


class ReplicaSetSpec(_Part, frozen=True):
    """What was asked for."""

    selector: Json = {}
    template: Json = {}
    replicas: int = 1
    min_ready_seconds: int = 0


class ReplicaSetStatus(_Part, frozen=True):
    """What there is."""

    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    observed_generation: int = 0


class ReplicaSet(Lean, frozen=True):
    """A ReplicaSet."""

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: Json = {}

    @property
    def counts(self) -> ReplicaSetStatus:
        """Its status as numbers."""
        return msgspec.convert(self.status, ReplicaSetStatus)


class Revision(Lean, frozen=True):
    """A ControllerRevision: a template that a StatefulSet has, or had."""

    revision: int = 0
    data: Json = {}


class JobSpec(_Part, frozen=True):
    """What was asked for."""

    template: Json = {}
    completions: int = 1
    parallelism: int = 1
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False


class Job(Lean, frozen=True):
    """A Job."""

    spec: JobSpec = JobSpec()
    status: Json = {}


class Namespace(Lean, frozen=True):
    """A namespace."""

    status: Json = {}


class Resources(_Part, frozen=True):
    """Quantities as people write them."""

    requests: dict[str, str | int | float] = {}


class ClaimSpec(_Part, frozen=True):
    """What is claimed."""

    access_modes: tuple[str, ...] = ()
    resources: Resources = Resources()
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str = "Filesystem"
    selector: Json | None = None
    data_source: Json | None = None
    data_source_ref: Json | None = None


class Claim(Lean, frozen=True):
    """A PersistentVolumeClaim."""

    spec: ClaimSpec = ClaimSpec()
    status: Json = {}

    @property
    def leaving(self) -> bool:
        """Somebody deleted it, and it is not gone yet."""
        return self.metadata.deletion_timestamp is not None

    @property
    def bound(self) -> bool:
        """It has its volume."""
        return self.status.get("phase") == "Bound"


class Volume(Lean, frozen=True):
    """A PersistentVolume."""

    spec: Json = {}
    status: Json = {}


class Taint(_Part, frozen=True):
    """What keeps pods away from a machine."""

    key: str
    effect: str
    value: str = ""


class MachineSpec(_Part, frozen=True):
    """What a machine takes."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class Machine(Lean, frozen=True):
    """A Kubernetes node."""

    spec: MachineSpec = MachineSpec()
    status: Json = {}


PODS = Resource("", "v1", "pods", "Pod", Pod)
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", Claim)
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", Volume, namespaced=False)
MACHINES = Resource("", "v1", "nodes", "Node", Machine, namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", Namespace, namespaced=False)
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet", StatefulSet)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", Deployment)
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet", ReplicaSet)
REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision", Revision)
JOBS = Resource("batch", "v1", "jobs", "Job", Job)

NAMESPACED: tuple[Resource[Any], ...] = (
    *(Resource(GROUP, VERSION, info.plural, info.kind, Lean) for info in KINDS),
    *(one.reading(Lean) for one in (DEPLOYMENTS, STATEFUL_SETS, JOBS, REPLICA_SETS, REVISIONS, PODS, CLAIMS)),
    Resource("apps", "v1", "daemonsets", "DaemonSet", Lean),
    Resource("", "v1", "services", "Service", Lean),
    Resource("", "v1", "configmaps", "ConfigMap", Lean),
    Resource("", "v1", "secrets", "Secret", Lean),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", Lean),
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", Lean),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", Lean),
    Resource("rbac.authorization.k8s.io", "v1", "roles", "Role", Lean),
    Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", Lean),
    Resource("coordination.k8s.io", "v1", "leases", "Lease", Lean),
    EVENTS,
    Resource("", "v1", "events", "Event", Lean),
)
"""What may live in a namespace, in the order in which it goes with it: whoever makes others goes first."""
