"""plugstack.conf: the SPANK plugins that slurmd and the commands load."""

from __future__ import annotations

import re

from penstock.render import walls
from penstock.render.inventory import Cluster

NAME = "plugstack.conf"
PLUGIN = "penstock.so"
"""Found where Slurm has its own."""
_PYXIS = re.compile(r"^\s*(?:required|optional|include)\s+\S*pyxis", re.MULTILINE | re.IGNORECASE)


def plugstack_conf(cluster: Cluster) -> str | None:
    """Our plugin, required, in front of what people load themselves; nothing when nothing needs it.

    Required: where the plugin is missing, a step fails instead of running outside the shared root or the walls.
    In front: it refuses tenants where another plugin could run programs for them first. So Slurm would give it the
    container options that Pyxis has, too, were it not told to leave them alone.
    """
    if not walls.are_up(cluster):
        return None
    theirs = cluster.user_files.get(NAME, "")
    options = " options=no" if _PYXIS.search(theirs) else ""
    return f"required {PLUGIN}{options}\n" + (theirs if theirs.endswith("\n") or not theirs else f"{theirs}\n")
