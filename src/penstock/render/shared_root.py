"""The shared root: its claim, and how login and worker pods mount it."""

from __future__ import annotations

from penstock.api.objects import Json
from penstock.api.schema import encode
from penstock.render import labels, names, pods
from penstock.render.inventory import Cluster

_VOLUME = "shared-root"
_SIZE = "20Gi"  # a claim must name one: a Debian of 1 GiB and room for people's files


def claim(cluster: Cluster) -> list[Json]:
    """The claim, if one is to be made."""
    controller = cluster.controller
    root = controller.spec.shared_root
    if root is None or root.existing_claim:
        return []
    size = encode(root.resources) or {"requests": {"storage": _SIZE}}
    spec: Json = {"accessModes": list(root.access_modes), "resources": size}
    if root.storage_class_name is not None:
        spec["storageClassName"] = root.storage_class_name
    # No owner: the users' files in it outlive the Controller.
    own = labels.component("slurmctld", controller)
    metadata = labels.metadata(names.shared_root(controller), controller, labels=own, owners=[])
    return [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}]


def mounts(cluster: Cluster) -> list[Json]:
    """How a container sees it."""
    root = cluster.controller.spec.shared_root
    return [pods.mount(_VOLUME, root.mount_path)] if root else []


def volumes(cluster: Cluster) -> list[Json]:
    """How a pod has it."""
    if cluster.controller.spec.shared_root is None:
        return []
    return [{"name": _VOLUME, "persistentVolumeClaim": {"claimName": names.shared_root(cluster.controller)}}]
