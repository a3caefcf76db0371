"""Controller: slurmctld, and with it the whole of a cluster's configuration."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, ClassVar

import msgspec

from penstock.api import patterns
from penstock.api.objects import (
    ClaimResources,
    ClaimSpec,
    Conditions,
    ConfigMapKeySelector,
    Container,
    ExternalConfig,
    Labels,
    LocalObjectReference,
    ObjectMeta,
    ObjectName,
    Part,
    PodTemplate,
    SecretKeySelector,
    ServiceTemplate,
    documented,
)

_INTERVAL = documented("A Prometheus duration, for instance 30s.", pattern=patterns.PROMETHEUS_DURATION)


class ImageContract(Enum):
    """Whose images a component runs: they differ in user ids, paths and entry points."""

    PENSTOCK = "Penstock"
    SLINKY = "Slinky"


ContractChoice = Annotated[
    ImageContract | None, documented("Whose conventions the image follows; unset: known from the image's name.")
]


class HighAvailability(Part, frozen=True):
    """Backup slurmctlds that take over when the first one dies."""

    enabled: Annotated[bool, documented("Run backups; needs persistence with an existing ReadWriteMany claim.")] = False
    backups: Annotated[int, documented("How many backups.", minimum=1, maximum=31)] = 1


class Persistence(ClaimSpec, frozen=True):
    """Where slurmctld keeps its state: a claim made from the fields here, an existing claim, or nothing lasting."""

    enabled: Annotated[bool, documented("Keep state on a claim; off keeps it only as long as the pod.")] = True
    existing_claim: Annotated[ObjectName | None, documented("Use this claim instead of making one.")] = None


class MetricsEndpoint(Part, frozen=True):
    """One page of metrics to scrape."""

    path: Annotated[str, documented("HTTP path, for instance /metrics/jobs.")]
    interval: Annotated[str | None, _INTERVAL] = None
    scrape_timeout: Annotated[str | None, _INTERVAL] = None


class ServiceMonitor(Part, frozen=True):
    """A Prometheus operator's ServiceMonitor for slurmctld."""

    enabled: Annotated[bool, documented("Make a ServiceMonitor.")] = False
    labels: Annotated[Labels | None, documented("Labels of the ServiceMonitor.")] = None
    annotations: Annotated[Labels | None, documented("Annotations of the ServiceMonitor.")] = None
    interval: Annotated[str | None, _INTERVAL] = None
    scrape_timeout: Annotated[str | None, _INTERVAL] = None
    endpoints: Annotated[list[MetricsEndpoint], documented("Pages to scrape.", maxItems=32)] = []


class Metrics(Part, frozen=True):
    """slurmctld's own OpenMetrics pages."""

    enabled: Annotated[bool, documented("Serve metrics on slurmctld's port.")] = False
    service_monitor: Annotated[ServiceMonitor | None, documented("Let a Prometheus operator scrape them.")] = None


class Partition(Part, frozen=True):
    """A Slurm partition over several NodeSets."""

    name: Annotated[str, documented("Name of the partition.", pattern=patterns.SLURM_NAME, maxLength=63)]
    node_sets: Annotated[list[str], documented("Names of NodeSets, or ALL for every node.", minItems=1, maxItems=256)]
    config: Annotated[
        str | dict[str, str | int | float | bool],
        documented("Further settings, as a map (MaxTime: 24:00:00) or as text (MaxTime=24:00:00 Default=YES)."),
    ] = ""


class TopologySwitch(Part, frozen=True):
    """A switch of a tree topology."""

    switch: Annotated[str, documented("Name of the switch.")]
    children: Annotated[str | None, documented("Switches below it, as a host list.")] = None
    nodes: Annotated[str | None, documented("Slurm nodes below it, as a host list; empty for dynamic nodes.")] = None


class TopologyBlock(Part, frozen=True):
    """A block of a block topology."""

    block: Annotated[str, documented("Name of the block.")]
    nodes: Annotated[str | None, documented("Slurm nodes in it, as a host list; empty for dynamic nodes.")] = None


class Topology(Part, frozen=True):
    """A network topology that Slurm places jobs by; exactly one of tree, block, flat."""

    name: Annotated[str, documented("Name, as node annotations use it (topology.slinky.slurm.net/spec).")]
    cluster_default: Annotated[bool, documented("Use this topology for partitions that name none.")] = False
    tree: Annotated[list[TopologySwitch], documented("Switches, leaves and above.", maxItems=4096)] = []
    block_sizes: Annotated[list[int], documented("Planning sizes of a block topology.", maxItems=16)] = []
    blocks: Annotated[list[TopologyBlock], documented("Blocks.", maxItems=4096)] = []
    flat: Annotated[bool, documented("All nodes equally far from each other.")] = False


class SharedRoot(Part, frozen=True):
    """A root file system that login sessions and jobs share, so that both see the same files."""

    existing_claim: Annotated[str | None, documented("Use this ReadWriteMany claim instead of making one.")] = None
    access_modes: Annotated[list[str], documented("Access modes of the claim.", maxItems=8)] = msgspec.field(
        default_factory=lambda: ["ReadWriteMany"]
    )
    resources: Annotated[ClaimResources, documented("Size of the claim.")] = ClaimResources()
    storage_class_name: Annotated[str | None, documented("StorageClass of the claim.")] = None
    mount_path: Annotated[str, documented("Where login and worker pods mount it.", pattern=patterns.PLAIN_PATH)] = (
        "/mnt/shared-root"
    )
    image: Annotated[str | None, documented("Image to fill it from, once; unset takes the login image.")] = None
    node_local: Annotated[
        list[Annotated[str, documented("Where it is.", pattern=patterns.PLAIN_PATH)]],
        documented("Paths that jobs see as each node has them, in place of the shared root's.", maxItems=64),
    ] = []


class ControllerSpec(Part, frozen=True):
    """What a Controller should be."""

    cluster_name: Annotated[
        str | None,
        documented(
            "Slurm's ClusterName; unset means <namespace>_<name>. Cannot change.",
            maxLength=40,
            pattern=patterns.CLUSTER_NAME,
        ),
    ] = None
    slurm_key_ref: Annotated[SecretKeySelector | None, documented("The auth/slurm key. Its Secret cannot change.")] = (
        None
    )
    jwt_key_ref: Annotated[SecretKeySelector | None, documented("The HS256 key for tokens. Cannot change.")] = None
    jwt_hs256_key_ref: Annotated[SecretKeySelector | None, documented("Deprecated: write jwtKeyRef.")] = None
    jwks_key_ref: Annotated[ConfigMapKeySelector | None, documented("Public keys of an identity provider.")] = None
    accounting_ref: Annotated[LocalObjectReference | None, documented("The Accounting to report to.")] = None
    external: Annotated[bool, documented("slurmctld runs elsewhere; only its address is written.")] = False
    external_config: Annotated[ExternalConfig | None, documented("Where the external slurmctld is.")] = None
    ha: Annotated[HighAvailability, documented("Backup slurmctlds.")] = HighAvailability()
    slurmctld: Container = {}
    inplace_reconfigure: Annotated[
        bool | None, documented("Give slurmctld new configuration without a restart. Unset means true.")
    ] = None
    reconfigure: Container = {}
    logfile: Container = {}
    template: Annotated[PodTemplate, documented("Merged onto the slurmctld pods.")] = PodTemplate()
    extra_conf: Annotated[str | None, documented("Text appended to slurm.conf.", maxLength=262144)] = None
    config_file_refs: Annotated[
        list[LocalObjectReference], documented("ConfigMaps whose keys become files in /etc/slurm.", maxItems=64)
    ] = []
    prolog_script_refs: Annotated[
        list[LocalObjectReference], documented("ConfigMaps with Prolog scripts.", maxItems=64)
    ] = []
    epilog_script_refs: Annotated[
        list[LocalObjectReference], documented("ConfigMaps with Epilog scripts.", maxItems=64)
    ] = []
    prolog_slurmctld_script_refs: Annotated[
        list[LocalObjectReference], documented("ConfigMaps with PrologSlurmctld scripts.", maxItems=64)
    ] = []
    epilog_slurmctld_script_refs: Annotated[
        list[LocalObjectReference], documented("ConfigMaps with EpilogSlurmctld scripts.", maxItems=64)
    ] = []
    persistence: Annotated[Persistence, documented("Where slurmctld keeps its state.")] = Persistence()
    service: Annotated[ServiceTemplate, documented("The Service in front of slurmctld.")] = ServiceTemplate()
    metrics: Annotated[Metrics, documented("slurmctld's metrics.")] = Metrics()
    image_contract: ContractChoice = None
    partitions: Annotated[
        list[Partition],
        documented(
            "Penstock: partitions over several NodeSets.",
            maxItems=256,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
    ] = []
    topology: Annotated[list[Topology], documented("Penstock: written to topology.yaml.", maxItems=32)] = []
    shared_root: Annotated[SharedRoot | None, documented("Penstock: one root file system for login and jobs.")] = None

    @property
    def jwt_key(self) -> SecretKeySelector | None:
        """The JWT key in effect: the new field wins over the deprecated one."""
        return self.jwt_key_ref or self.jwt_hs256_key_ref

    @property
    def replicas(self) -> int:
        """How many slurmctld pods: the first one and its backups."""
        return 1 + self.ha.backups if self.ha.enabled else 1

    @property
    def reconfigures_in_place(self) -> bool:
        """Whether new configuration reaches a running slurmctld instead of rolling its pod."""
        return self.inplace_reconfigure is not False


class SharedRootStatus(Part, frozen=True):
    """What is in the shared root."""

    image: Annotated[str | None, documented("The image that it was filled from.")] = None


class ControllerStatus(Part, frozen=True):
    """What is known about a Controller."""

    conditions: Conditions = []
    shared_root: Annotated[SharedRootStatus | None, documented("What is in the shared root.")] = None


class Controller(Part, frozen=True):
    """A slurmctld, the configuration of its cluster, and the Services in front of it."""

    kind: ClassVar[str] = "Controller"

    metadata: ObjectMeta
    spec: ControllerSpec = ControllerSpec()
    status: ControllerStatus = ControllerStatus()

    @property
    def cluster_name(self) -> str:
        """Slurm's ClusterName in effect."""
        return self.spec.cluster_name or f"{self.metadata.namespace}_{self.metadata.name}"
