"""What Kubernetes knows about its own kinds, as far as the store needs it: data, no code.

Shapes tell only what is not plain: a field that is not named here is a number, a text, a struct of such, or a list
that is replaced whole. Taken from the schema of Kubernetes 1.36 (client-go, applyconfigurations/internal).
"""

from __future__ import annotations

from penstock.api.objects import Json
from penstock.cluster.store.shapes import ATOMIC, MAP, RAW, SET, Shape, by, struct

METADATA = struct(labels=MAP, annotations=MAP, finalizers=SET, ownerReferences=by("uid", item=ATOMIC))
_CONDITIONS = by("type")
_QUANTITIES = struct(limits=MAP, requests=MAP, claims=by("name"))
_CLAIM_SPEC = struct(dataSource=ATOMIC, resources=_QUANTITIES, selector=ATOMIC)
_VALUE_FROM = struct(
    configMapKeyRef=ATOMIC, fieldRef=ATOMIC, fileKeyRef=ATOMIC, resourceFieldRef=ATOMIC, secretKeyRef=ATOMIC
)
_CONTAINERS = by(
    "name",
    item=struct(
        env=by("name", item=struct(valueFrom=_VALUE_FROM)),
        ports=by("containerPort", "protocol", protocol="TCP"),
        resources=_QUANTITIES,
        volumeDevices=by("devicePath"),
        volumeMounts=by("mountPath"),
    ),
)
_SECRET = struct(secretRef=ATOMIC)
_VOLUMES = by(
    "name",
    item=struct(
        cephfs=_SECRET,
        cinder=_SECRET,
        csi=struct(nodePublishSecretRef=ATOMIC, volumeAttributes=MAP),
        ephemeral=struct(volumeClaimTemplate=struct(metadata=METADATA, spec=_CLAIM_SPEC)),
        flexVolume=struct(options=MAP, secretRef=ATOMIC),
        iscsi=_SECRET,
        rbd=_SECRET,
        scaleIO=_SECRET,
        storageos=_SECRET,
    ),
)
_POD_SPEC = struct(
    affinity=struct(nodeAffinity=struct(requiredDuringSchedulingIgnoredDuringExecution=ATOMIC)),
    containers=_CONTAINERS,
    ephemeralContainers=_CONTAINERS,
    hostAliases=by("ip"),
    imagePullSecrets=by("name", item=ATOMIC),
    initContainers=_CONTAINERS,
    nodeSelector=ATOMIC,
    overhead=MAP,
    resourceClaims=by("name"),
    resources=_QUANTITIES,
    schedulingGates=by("name"),
    topologySpreadConstraints=by("topologyKey", "whenUnsatisfiable", item=struct(labelSelector=ATOMIC)),
    volumes=_VOLUMES,
)
_WORKLOAD = struct(
    metadata=METADATA,
    spec=struct(selector=ATOMIC, template=struct(metadata=METADATA, spec=_POD_SPEC)),
    status=struct(conditions=_CONDITIONS),
)

SHAPES: dict[str, Shape] = {
    "configmaps": struct(metadata=METADATA, binaryData=MAP, data=MAP),
    "controllerrevisions.apps": struct(metadata=METADATA, data=RAW),
    "daemonsets.apps": _WORKLOAD,
    "deployments.apps": _WORKLOAD,
    "events": struct(metadata=METADATA, involvedObject=ATOMIC, related=ATOMIC),
    "events.events.k8s.io": struct(metadata=METADATA, regarding=ATOMIC, related=ATOMIC),
    "jobs.batch": struct(
        metadata=METADATA, spec=struct(selector=ATOMIC, template=struct(metadata=METADATA, spec=_POD_SPEC))
    ),
    "namespaces": struct(metadata=METADATA, status=struct(conditions=_CONDITIONS)),
    "networkpolicies.networking.k8s.io": struct(metadata=METADATA, spec=struct(podSelector=ATOMIC)),
    "nodes": struct(
        metadata=METADATA,
        spec=struct(podCIDRs=SET),
        status=struct(addresses=by("type"), allocatable=MAP, capacity=MAP, conditions=_CONDITIONS),
    ),
    "persistentvolumeclaims": struct(
        metadata=METADATA,
        spec=_CLAIM_SPEC,
        status=struct(allocatedResourceStatuses=MAP, allocatedResources=MAP, capacity=MAP, conditions=_CONDITIONS),
    ),
    "persistentvolumes": struct(
        metadata=METADATA,
        spec=struct(capacity=MAP, csi=struct(volumeAttributes=MAP), nodeAffinity=struct(required=ATOMIC)),
    ),
    "poddisruptionbudgets.policy": struct(
        metadata=METADATA,
        spec=struct(selector=ATOMIC),
        status=struct(conditions=_CONDITIONS, disruptedPods=MAP),
    ),
    "pods": struct(
        metadata=METADATA,
        spec=_POD_SPEC,
        status=struct(
            allocatedResources=MAP,
            conditions=_CONDITIONS,
            podIPs=by("ip"),
            resourceClaimStatuses=by("name"),
            resources=_QUANTITIES,
        ),
    ),
    "replicasets.apps": _WORKLOAD,
    "rolebindings.rbac.authorization.k8s.io": struct(metadata=METADATA, roleRef=ATOMIC),
    "secrets": struct(metadata=METADATA, data=MAP, stringData=MAP),
    "serviceaccounts": struct(metadata=METADATA, secrets=by("name", item=ATOMIC)),
    "services": struct(
        metadata=METADATA,
        spec=struct(ports=by("port", "protocol", protocol="TCP"), selector=ATOMIC),
        status=struct(conditions=_CONDITIONS),
    ),
    "statefulsets.apps": _WORKLOAD,
}
"""By resource; what is missing here is a struct with Kubernetes' metadata."""

OTHER_SHAPE = struct(metadata=METADATA)

WITH_STATUS = frozenset(
    {
        "daemonsets.apps",
        "deployments.apps",
        "jobs.batch",
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "poddisruptionbudgets.policy",
        "pods",
        "replicasets.apps",
        "services",
        "statefulsets.apps",
    }
)
"""Resources whose status has a door of its own."""

STATUS_AT_BIRTH: dict[str, Json] = {
    "namespaces": {"phase": "Active"},
    "persistentvolumeclaims": {"phase": "Pending"},
    "pods": {"phase": "Pending"},
}

WITH_SCALE = frozenset({"deployments.apps", "replicasets.apps", "statefulsets.apps"})

WITH_GENERATION = frozenset(
    {
        "daemonsets.apps",
        "deployments.apps",
        "endpointslices.discovery.k8s.io",
        "jobs.batch",
        "networkpolicies.networking.k8s.io",
        "poddisruptionbudgets.policy",
        "pods",
        "replicasets.apps",
        "statefulsets.apps",
    }
)

FROZEN: dict[str, str] = {"controllerrevisions.apps": "data"}
"""By resource: a field that nobody may change once the object is there."""

FIELD_SELECTORS: dict[str, tuple[str, ...]] = {"pods": ("spec.nodeName", "status.phase")}
"""Fields that a selector may name beside name and namespace."""
