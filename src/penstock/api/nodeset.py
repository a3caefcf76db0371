"""NodeSet: the worker pods that run slurmd, their storage, and how they come and go."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Annotated, ClassVar

from penstock.api import patterns
from penstock.api.controller import ContractChoice
from penstock.api.objects import (
    ClaimTemplate,
    Conditions,
    Container,
    ControllerReference,
    Count,
    ObjectMeta,
    Part,
    PodTemplate,
    SecretKeySelector,
    documented,
)
from penstock.api.scalars import Duration, IntOrPercent

_DEFAULT_WINDOW = Duration.parse("30m")
_QUARTER = IntOrPercent.parse("25%")


class ScalingMode(Enum):
    """How the number of workers is found."""

    STATEFUL_SET = "StatefulSet"
    DAEMON_SET = "DaemonSet"


class UpdateType(Enum):
    """When workers of an old template are replaced."""

    ROLLING_UPDATE = "RollingUpdate"
    ON_DELETE = "OnDelete"
    SCHEDULED_UPDATE = "ScheduledUpdate"


class Retention(Enum):
    """What becomes of a claim."""

    RETAIN = "Retain"
    DELETE = "Delete"


class Prune(Enum):
    """Which stale Slurm node records are removed."""

    NEVER = "Never"
    NODE_NOT_FOUND = "NodeNotFound"


class Registration(Enum):
    """How slurmctld learns of the workers."""

    DYNAMIC = "Dynamic"
    STATIC = "Static"


class DrainTimeoutAction(Enum):
    """What to do with jobs that outlast a bounded drain."""

    WAIT = "Wait"
    REQUEUE = "Requeue"
    CANCEL = "Cancel"


class Ssh(Part, frozen=True):
    """An sshd beside slurmd."""

    sssd_conf_ref: Annotated[SecretKeySelector, documented("The Secret with sssd.conf.")]
    enabled: Annotated[bool, documented("Run sshd in the workers.")] = False
    extra_sshd_config: Annotated[str | None, documented("Text appended to sshd_config.", maxLength=65536)] = None


class NodeSetPartition(Part, frozen=True):
    """The partition of this NodeSet alone; partitions over several sets are in the Controller."""

    enabled: Annotated[bool, documented("Write a partition line for this NodeSet.")] = True
    config: Annotated[
        str | None,
        documented("Tail of the partition line, for instance Default=YES.", maxLength=4096, pattern=patterns.ONE_LINE),
    ] = None


class RollingUpdate(Part, frozen=True):
    """How fast a rolling update goes."""

    max_unavailable: Annotated[IntOrPercent, documented("How many workers may be missing at a time.")] = _QUARTER


class ScheduledUpdate(Part, frozen=True):
    """A maintenance window, made as a Slurm reservation."""

    start_time: Annotated[datetime, documented("When the window opens, RFC 3339.")]
    duration: Annotated[Duration, documented("How long it stays open; at least one minute.")] = _DEFAULT_WINDOW
    flags: Annotated[list[str], documented("Slurm reservation flags, for instance DAILY.", maxItems=32)] = []


class UpdateStrategy(Part, frozen=True):
    """How workers get a new template."""

    type: Annotated[UpdateType, documented("RollingUpdate, OnDelete or ScheduledUpdate.")] = UpdateType.ROLLING_UPDATE
    rolling_update: Annotated[RollingUpdate, documented("For RollingUpdate.")] = RollingUpdate()
    scheduled_update: Annotated[ScheduledUpdate | None, documented("For ScheduledUpdate.")] = None


class RetentionPolicy(Part, frozen=True):
    """What becomes of the workers' claims."""

    when_deleted: Annotated[Retention, documented("When the NodeSet is deleted.")] = Retention.RETAIN
    when_scaled: Annotated[Retention, documented("When the NodeSet shrinks.")] = Retention.RETAIN


class Drain(Part, frozen=True):
    """A bound on how long a leaving worker waits for its jobs."""

    timeout: Annotated[Duration | None, documented("How long to wait; unset waits for ever.")] = None
    on_timeout: Annotated[DrainTimeoutAction, documented("What happens to jobs then.")] = DrainTimeoutAction.WAIT


class Autoscale(Part, frozen=True):
    """Workers follow the partition's pending jobs."""

    enabled: Annotated[bool, documented("Let pending and idle decide on replicas.")] = False
    min_replicas: Annotated[Count, documented("Never fewer workers; 0 allowed.")] = 0
    max_replicas: Annotated[Count, documented("Never more workers.")] = 1
    idle_seconds: Annotated[Count, documented("How long a worker idles before it goes.")] = 300


class WallsConfigMap(Part, frozen=True):
    """A ConfigMap with policies."""

    name: Annotated[str, documented("Name of the ConfigMap, with the keys ranges, default and uid-NUMBER.")]


class WallsClaim(Part, frozen=True):
    """A claim with policies."""

    claim_name: Annotated[str, documented("Name of the claim.")]


class WallsDirectory(Part, frozen=True):
    """A directory of the machine with policies."""

    path: Annotated[str, documented("Where it is.", pattern=patterns.ABSOLUTE_PATH)]


class Walls(Part, frozen=True):
    """Who gets what on the workers, for Penstock's plugin to read; exactly one of the three."""

    config_map: Annotated[WallsConfigMap | None, documented("For few users.")] = None
    persistent_volume_claim: Annotated[WallsClaim | None, documented("For many.")] = None
    host_path: Annotated[WallsDirectory | None, documented("Where somebody else keeps them on the machine.")] = None


class NodeSetSpec(Part, frozen=True):
    """What a NodeSet should be."""

    controller_ref: Annotated[ControllerReference, documented("The Controller of the cluster. Cannot change.")]
    replicas: Annotated[Count, documented("How many workers, in StatefulSet mode.")] = 1
    scaling_mode: Annotated[ScalingMode, documented("A number of workers, or one on every matching machine.")] = (
        ScalingMode.STATEFUL_SET
    )
    slurmd: Container = {}
    ssh: Annotated[Ssh | None, documented("sshd in the workers.")] = None
    logfile: Container = {}
    template: Annotated[PodTemplate, documented("Merged onto the worker pods.")] = PodTemplate()
    extra_conf: Annotated[
        str | None, documented("Key=Value items for slurmd --conf.", maxLength=16384, pattern=patterns.NODE_PARAMETERS)
    ] = None
    partition: Annotated[NodeSetPartition, documented("A partition of this NodeSet alone.")] = NodeSetPartition(
        enabled=False
    )
    volume_claim_templates: Annotated[
        list[ClaimTemplate], documented("One claim each per worker. Only resources may change.", maxItems=16)
    ] = []
    update_strategy: Annotated[UpdateStrategy, documented("How workers get a new template.")] = UpdateStrategy()
    revision_history_limit: Annotated[Count, documented("How many old revisions to keep; 0 keeps ten.")] = 0
    persistent_volume_claim_retention_policy: Annotated[RetentionPolicy, documented("What becomes of claims.")] = (
        RetentionPolicy()
    )
    min_ready_seconds: Annotated[Count, documented("How long a worker is ready before it counts.")] = 0
    ordinal_padding: Annotated[int, documented("Width of ordinals, filled with zeros.", minimum=0, maximum=9)] = 0
    pin_to_node: Annotated[bool, documented("A worker returns to the machine it ran on.")] = False
    workload_disruption_protection: Annotated[bool, documented("Protect busy workers from eviction.")] = True
    prune_slurm_node_records: Annotated[Prune, documented("Remove Slurm records of machines that are gone.")] = (
        Prune.NEVER
    )
    oversubscribe_node: Annotated[bool, documented("Allow several workers on one machine.")] = False
    image_contract: ContractChoice = None
    registration: Annotated[Registration, documented("Penstock: Dynamic, or Static lines in slurm.conf.")] = (
        Registration.DYNAMIC
    )
    drain: Annotated[Drain, documented("Penstock: a bound on draining.")] = Drain()
    autoscale: Annotated[Autoscale, documented("Penstock: workers follow the queue.")] = Autoscale()
    walls: Annotated[Walls | None, documented("Penstock: policies that say what tasks of whom get.")] = None

    @property
    def possible_replicas(self) -> int:
        """How many workers there may be without another edit of the spec."""
        return max(self.replicas, self.autoscale.max_replicas) if self.autoscale.enabled else self.replicas


class NodeSetStatus(Part, frozen=True):
    """What is known about a NodeSet."""

    replicas: Annotated[int, documented("Pods that exist, leaving ones included.")] = 0
    updated_replicas: Annotated[int, documented("Pods of the newest template.")] = 0
    ready_replicas: Annotated[int, documented("Pods that are ready.")] = 0
    available_replicas: Annotated[int, documented("Pods that have been ready long enough.")] = 0
    unavailable_replicas: Annotated[int, documented("Pods that are missing.")] = 0
    desired: Annotated[int, documented("Pods that should exist.")] = 0
    slurm_idle: Annotated[int, documented("Idle Slurm nodes.")] = 0
    slurm_allocated: Annotated[int, documented("Slurm nodes with jobs.")] = 0
    slurm_down: Annotated[int, documented("Slurm nodes that are down.")] = 0
    slurm_drain: Annotated[int, documented("Slurm nodes that drain or are drained.")] = 0
    observed_generation: Annotated[int, documented("Generation that the status speaks of.")] = 0
    node_set_hash: Annotated[str, documented("Hash of the newest template.")] = ""
    collision_count: Annotated[int | None, documented("Hash collisions so far.")] = None
    ordinal_to_node: Annotated[dict[str, str], documented("Machines of the ordinals, with pinToNode.")] = {}
    selector: Annotated[str, documented("Label selector of the pods.")] = ""
    conditions: Conditions = []


class NodeSet(Part, frozen=True):
    """A set of Slurm nodes that are pods."""

    kind: ClassVar[str] = "NodeSet"

    metadata: ObjectMeta
    spec: NodeSetSpec
    status: NodeSetStatus = NodeSetStatus()

    @property
    def slurm_name(self) -> str:
        """Name of the set inside Slurm: its NodeSet, feature and partition."""
        return self.hostname_prefix.strip("-") or self.metadata.name

    @property
    def hostname_prefix(self) -> str:
        """What stands before the ordinal in Slurm node names, or nothing when the pod's name is used."""
        return str(self.spec.template.spec.get("hostname") or "")
