"""Walls: the policies that Penstock's plugin reads on a worker, where they come from and how its pod has them.

Whoever says nothing has the policies made here: the shared root for everybody, if there is one. A worker never has
none, for the plugin refuses every step that nobody has decided about.
"""

from __future__ import annotations

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.api.schema import encode
from penstock.render import labels, names, pods
from penstock.render.inventory import Cluster
from penstock.render.services import config_map
from penstock.walls.policy import DIRECTORY, Policy, UserClass
from penstock.walls.writing import written, written_ranges

_VOLUME = "walls"


def are_up(cluster: Cluster) -> bool:
    """Whether workers load the plugin, and so need policies."""
    return cluster.controller.spec.shared_root is not None or any(one.spec.walls for one in cluster.node_sets)


def policies(cluster: Cluster) -> dict[str, str]:
    """Policies for workers whose NodeSet names none: users, who are in the shared root; without one, as they were."""
    root = cluster.controller.spec.shared_root
    everybody = Policy(user_class=UserClass.USER, root=root.mount_path) if root else Policy(user_class=UserClass.ADMIN)
    return {"default": written(everybody), "ranges": written_ranges(())}


def manifests(cluster: Cluster) -> list[Json]:
    """The ConfigMap with them, if somebody needs it."""
    controller = cluster.controller
    if not are_up(cluster) or all(one.spec.walls for one in cluster.node_sets):
        return []
    own = labels.component("slurmctld", controller)
    return [config_map(labels.metadata(names.walls(controller), controller, labels=own), policies(cluster))]


def mounts(cluster: Cluster) -> list[Json]:
    """How slurmd sees them."""
    return [pods.mount(_VOLUME, DIRECTORY, read_only=True)] if are_up(cluster) else []


def volumes(cluster: Cluster, node_set: NodeSet) -> list[Json]:
    """How a worker has them."""
    if not are_up(cluster):
        return []
    theirs = node_set.spec.walls
    source: Json = encode(theirs) if theirs else {"configMap": {"name": names.walls(cluster.controller)}}
    if "configMap" in source:
        source = {"configMap": {**source["configMap"], "defaultMode": 0o600}}
    return [{"name": _VOLUME, **source}]
