"""What this machine is called in the store of a cluster: chosen once, and kept with the cluster's state.

Pods are bound to a machine by its name. Host names change (DHCP, `hostnamectl`), and not every one is a name that
Kubernetes takes; under another name nobody would look after the pods that are there.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from penstock import durable
from penstock.cluster.port import Cluster
from penstock.engine.podspec import PODS
from penstock.engine.workloads.kinds import MACHINES

_LONGEST = 63
"""Letters; the name is a label's value as well."""
_NAMELESS = "machine"


async def node_name(cluster: Cluster, place: Path, *, host: str) -> str:
    """The name of this machine's Node; `place` is the file that keeps it, `host` the host name."""
    if kept := _kept(place):
        return kept
    chosen = await _known(cluster) or from_host(host)
    durable.put(place, chosen.encode())
    return chosen


def from_host(host: str) -> str:
    """A host name as the name of a Node. Pure."""
    parts = [re.sub(r"[^a-z0-9]", "-", part).strip("-") for part in host.lower().split(".")]
    return ".".join(filter(None, parts))[:_LONGEST].strip("-.") or _NAMELESS


def _kept(place: Path) -> str:
    try:
        text = place.read_text()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    return text if text == from_host(text) else ""


async def _known(cluster: Cluster) -> str:
    """The name that a cluster from before names were kept has for this machine; empty when it has none."""
    nodes = [one.metadata.name for one in (await cluster.list(MACHINES, limit=0)).items]
    if len(nodes) == 1:
        return nodes[0]
    pods = (await cluster.list(PODS, limit=0)).items
    bound = Counter(pod.spec.node_name for pod in pods if pod.spec.node_name in nodes)
    return next((name for name, _ in bound.most_common(1)), "")
