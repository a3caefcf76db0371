"""plugstack.conf: the SPANK plugins that slurmd and the commands load."""

from __future__ import annotations

from penstock.render import walls
from penstock.render.inventory import Cluster

NAME = "plugstack.conf"
PLUGIN = "penstock.so"
"""Found where Slurm has its own."""


def plugstack_conf(cluster: Cluster) -> str | None:
    """Our plugin, required, in front of what people load themselves; nothing when nothing needs it.

    Required: where the plugin is missing, a step fails instead of running outside the shared root or the walls.
    """
    if not walls.are_up(cluster):
        return None
    theirs = cluster.user_files.get(NAME, "")
    return f"required {PLUGIN}\n" + (theirs if theirs.endswith("\n") or not theirs else f"{theirs}\n")
