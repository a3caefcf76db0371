"""Walls: the policies that Penstock's plugin reads on a worker, where they come from and how its pod has them.

Whoever says nothing has the policies made here: the shared root for everybody, if there is one. A worker never has
none, for the plugin refuses every step that nobody has decided about.
"""

from __future__ import annotations

from penstock.api.controller import SharedRoot
from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.api.schema import encode
from penstock.render import labels, names, pods
from penstock.render.inventory import Cluster
from penstock.render.services import config_map
from penstock.slurm import conf
from penstock.walls.policy import DIRECTORY, Policy, UserClass
from penstock.walls.writing import written, written_ranges

HEALTH_PROGRAM = "/usr/sbin/penstock-walls-health"
"""In our workers' image: proves a node's walls, and drains it while they do not hold. Who lacks it logs that."""
_VOLUME = "walls"
_HEALTH_KEY = "HealthCheckProgram"
_HEALTH_SECONDS = 300
"""slurmd runs it when it starts, too, and it looks every few seconds itself while walls do not hold."""


def are_up(cluster: Cluster) -> bool:
    """Whether workers load the plugin: for walls at once, for the shared root when all of them have it."""
    has_root = cluster.controller.spec.shared_root is not None and not cluster.rootless_workers
    return has_root or any(one.spec.walls for one in cluster.node_sets)


def health_check(cluster: Cluster) -> list[tuple[str, conf.Setting]]:
    """What slurm.conf says of it. Slurm has room for one program: a person's own stands, and may call ours."""
    theirs = conf.settings(cluster.controller.spec.extra_conf or "")
    if not are_up(cluster) or _HEALTH_KEY.lower() in theirs:
        return []
    # Also on drained nodes, which may be mended; and not on all of them in the same moment.
    return [
        (_HEALTH_KEY, HEALTH_PROGRAM),
        ("HealthCheckInterval", _HEALTH_SECONDS),
        ("HealthCheckNodeState", "ANY,CYCLE"),
    ]


def policies(cluster: Cluster) -> dict[str, str]:
    """Policies for workers whose NodeSet names none: users, who are in the shared root; without one, as they were.

    Where others' walls have the plugin loaded, workers that lack the root must do without it.
    """
    root = cluster.controller.spec.shared_root
    lacks = cluster.rootless_workers and are_up(cluster)
    everybody = _in(root) if root and not lacks else Policy(user_class=UserClass.ADMIN)
    return {"default": written(everybody), "ranges": written_ranges(())}


def _in(root: SharedRoot) -> Policy:
    return Policy(user_class=UserClass.USER, root=root.mount_path, keeps=tuple(root.node_local))


def manifests(cluster: Cluster) -> list[Json]:
    """The ConfigMap with them. Always: a worker that has them before the plugin is loaded refuses nobody."""
    controller = cluster.controller
    own = labels.component("slurmctld", controller)
    return [config_map(labels.metadata(names.walls(controller), controller, labels=own), policies(cluster))]


def mounts() -> list[Json]:
    """How slurmd sees them."""
    return [pods.mount(_VOLUME, DIRECTORY, read_only=True)]


def volumes(cluster: Cluster, node_set: NodeSet) -> list[Json]:
    """How a worker has them: always, and if there are none yet, then as soon as there are some."""
    theirs = node_set.spec.walls
    made: Json = {"configMap": {"name": names.walls(cluster.controller), "optional": True}}
    source: Json = encode(theirs) if theirs else made
    if "configMap" in source:
        source = {"configMap": {**source["configMap"], "defaultMode": 0o600}}
    return [{"name": _VOLUME, **source}]
