"""cgroup.conf: cgroup v2 for privileged workers; none at all when some worker may not write to its cgroup."""

from __future__ import annotations

from penstock.render.inventory import Cluster
from penstock.slurm import conf
from penstock.slurm.conf import Section

NAME = "cgroup.conf"


def cgroup_conf(cluster: Cluster) -> str | None:
    """The file, or nothing when people bring their own."""
    if NAME in cluster.user_files:
        return None
    section = Section("CGROUP")
    if uses_cgroups(cluster):
        section.add("CgroupPlugin", "cgroup/v2")
        # There is no systemd in a pod to ask for a scope.
        section.add("IgnoreSystemd", "yes")
    else:
        section.add("CgroupPlugin", "disabled")
    return conf.document([section])


def uses_cgroups(cluster: Cluster) -> bool:
    """Whether Slurm may rely on cgroups everywhere: one configuration serves all nodes."""
    theirs = cluster.user_files.get(NAME)
    if theirs is not None:
        return conf.settings(theirs).get("cgroupplugin", "").lower() != "disabled"
    asked = any(is_unprivileged(node_set.spec.slurmd) for node_set in cluster.node_sets)
    return not asked and not cluster.confined_workers


def is_unprivileged(container: dict[str, object]) -> bool:
    """Whether the CR takes `privileged` away, by false or null: then the worker cannot write to its cgroup."""
    context = container.get("securityContext", {})
    return not context.get("privileged", True) if isinstance(context, dict) else context is None
