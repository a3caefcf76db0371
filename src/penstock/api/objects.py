"""Pieces that several kinds share: metadata, references, templates, conditions.

Pod, container and service bodies stay raw: what Kubernetes knows about them changes with every release, and a
field we have never heard of must reach the pod untouched.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from penstock.api import patterns
from penstock.api.scalars import Quantity

Json = dict[str, Any]
"""A JSON object whose fields are somebody else's business."""


def documented(description: str, **schema: object) -> Meta:
    """Describe a field, as `kubectl explain` shows it, with any Kubernetes schema extension it needs."""
    return Meta(description=description, extra_json_schema=dict(schema) or None)


_PRESERVE = {"x-kubernetes-preserve-unknown-fields": True}

Container = Annotated[
    Json, documented("A core/v1 Container; fields are merged onto ours by Kubernetes' merge keys.", **_PRESERVE)
]
PodSpec = Annotated[
    Json,
    documented(
        "A core/v1 PodSpec; fields are merged onto ours by Kubernetes' merge keys.",
        properties={
            "hostname": {
                "description": "For workers: the prefix of Slurm node names, directly followed by the ordinal.",
                "type": "string",
                "maxLength": 58,
                "pattern": patterns.HOSTNAME_PREFIX,
            }
        },
        **_PRESERVE,
    ),
]
RawServiceSpec = Annotated[
    Json, documented("A core/v1 ServiceSpec; externalIPs are dropped (CVE-2020-8554).", **_PRESERVE)
]
Labels = dict[str, str]
# Bounds let the API server estimate what a CEL rule over these texts may cost.
ObjectName = Annotated[str, Meta(max_length=253)]
Word = Annotated[str, Meta(max_length=63)]
Port = Annotated[int, Meta(ge=1, le=65535)]
Count = Annotated[int, Meta(ge=0, le=2147483647)]


class Part(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Base of everything inside a kind: camel case outside, immutable inside, defaults left out when written."""

    extra_schema: ClassVar[Json] = {}
    """Schema extensions of the whole object, such as `x-kubernetes-map-type`."""


class SecretKeySelector(Part, frozen=True):
    """One key of a Secret in the same namespace."""

    extra_schema: ClassVar[Json] = {"x-kubernetes-map-type": "atomic"}

    key: Annotated[ObjectName, documented("Key inside the Secret.")]
    name: Annotated[ObjectName, documented("Name of the Secret.")] = ""
    optional: Annotated[bool | None, documented("Whether the Secret or its key may be missing.")] = None


class ConfigMapKeySelector(Part, frozen=True):
    """One key of a ConfigMap in the same namespace."""

    extra_schema: ClassVar[Json] = {"x-kubernetes-map-type": "atomic"}

    key: Annotated[ObjectName, documented("Key inside the ConfigMap.")]
    name: Annotated[ObjectName, documented("Name of the ConfigMap.")] = ""
    optional: Annotated[bool | None, documented("Whether the ConfigMap or its key may be missing.")] = None


class LocalObjectReference(Part, frozen=True):
    """An object in the same namespace."""

    extra_schema: ClassVar[Json] = {"x-kubernetes-map-type": "atomic"}

    name: Annotated[ObjectName, documented("Name of the object.")] = ""


class ControllerReference(Part, frozen=True):
    """The Controller that a component belongs to."""

    extra_schema: ClassVar[Json] = {"x-kubernetes-map-type": "atomic"}

    name: Annotated[ObjectName, documented("Name of the Controller.")] = ""
    namespace: Annotated[
        str | None, documented("Accepted when it names the object's own namespace: references never leave it.")
    ] = None


class ExternalConfig(Part, frozen=True):
    """Where a daemon that we do not run can be reached."""

    host: Annotated[str, documented("Host name or address.")]
    port: Annotated[Port, documented("TCP port.")]


class TemplateMetadata(Part, frozen=True):
    """Labels and annotations for made objects."""

    labels: Annotated[Labels | None, documented("Labels to add.")] = None
    annotations: Annotated[Labels | None, documented("Annotations to add.")] = None


class PodTemplate(Part, frozen=True):
    """What to merge onto the pods of a component."""

    metadata: Annotated[TemplateMetadata, documented("Labels and annotations of the pods.")] = TemplateMetadata()
    spec: PodSpec = {}


class ServiceTemplate(Part, frozen=True):
    """What to merge onto the Service of a component."""

    metadata: Annotated[TemplateMetadata, documented("Labels and annotations of the Service.")] = TemplateMetadata()
    spec: RawServiceSpec = {}
    port: Annotated[Port | None, documented("Port of the Service, if other than the daemon's own.")] = None
    node_port: Annotated[Port | None, documented("Port on every machine, for type NodePort or LoadBalancer.")] = None


class ClaimResources(Part, frozen=True):
    """How much storage a claim asks for."""

    requests: Annotated[dict[str, Quantity], documented("Storage asked for, for instance storage: 100Gi.")] = {}
    limits: Annotated[dict[str, Quantity], documented("Upper bound of storage.")] = {}


class ClaimSpec(Part, frozen=True):
    """A core/v1 PersistentVolumeClaimSpec."""

    access_modes: Annotated[list[Word], documented("For instance ReadWriteOnce or ReadWriteMany.", maxItems=8)] = []
    resources: Annotated[ClaimResources, documented("How much storage.")] = ClaimResources()
    storage_class_name: Annotated[ObjectName | None, documented("StorageClass; unset takes the cluster's default.")] = (
        None
    )
    volume_name: Annotated[ObjectName | None, documented("Bind to this PersistentVolume.")] = None
    volume_mode: Annotated[Word | None, documented("Filesystem or Block.")] = None
    selector: Annotated[Json | None, documented("Label selector over volumes.", **_PRESERVE)] = None
    data_source: Annotated[Json | None, documented("Fill the volume from this object.", **_PRESERVE)] = None
    data_source_ref: Annotated[Json | None, documented("Fill the volume from this object.", **_PRESERVE)] = None
    volume_attributes_class_name: Annotated[str | None, documented("VolumeAttributesClass.")] = None


class ClaimMetadata(Part, frozen=True):
    """Name, labels and annotations of a claim template."""

    name: Annotated[str, documented("Name of the claim, and of the volume that pods mount.", minLength=1, maxLength=63)]
    labels: Annotated[Labels | None, documented("Labels to add.")] = None
    annotations: Annotated[Labels | None, documented("Annotations to add.")] = None


class ClaimTemplate(Part, frozen=True):
    """A PersistentVolumeClaim that each worker gets a copy of."""

    metadata: Annotated[ClaimMetadata, documented("Name, labels and annotations.")]
    api_version: Annotated[str | None, documented("v1, as in a claim of its own; may be left out.")] = None
    kind: Annotated[str | None, documented("PersistentVolumeClaim; may be left out.")] = None
    spec: Annotated[ClaimSpec, documented("What is claimed.")] = ClaimSpec()


class Condition(Part, frozen=True):
    """A metav1.Condition."""

    type: Annotated[str, documented("What is said to hold, for instance Ready.")]
    status: Annotated[str, documented("True, False or Unknown.", enum=["True", "False", "Unknown"])]
    reason: Annotated[str, documented("One word for programs.")]
    message: Annotated[str, documented("A sentence for people.")]
    last_transition_time: Annotated[datetime, documented("When the status last changed.")]
    observed_generation: Annotated[int | None, documented("Generation of the object that this speaks of.")] = None


Conditions = Annotated[
    list[Condition],
    documented(
        "What is known about the object.", **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    ),
]


class ObjectMeta(Part, frozen=True):
    """The part of an object's metadata that we read."""

    name: str
    namespace: str = "default"
    labels: Labels = {}
    annotations: Labels = {}
    uid: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    """Set: somebody deleted the object, and it is not gone yet."""
