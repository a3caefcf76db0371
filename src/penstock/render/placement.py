"""Binding a worker to one machine, as Kubernetes' own DaemonSets do: the scheduler still has the last word."""

from __future__ import annotations

from penstock.api.objects import Json

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def on_machine(spec: Json, machine: str) -> Json:
    """A pod that may run on this machine only, and only if its own terms allow it."""
    here = {"key": "metadata.name", "operator": "In", "values": [machine]}
    affinity = spec.get("affinity") or {}
    node = affinity.get("nodeAffinity") or {}
    # Terms are alternatives: each of them has to name the machine.
    terms = (node.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    bound = [term | {"matchFields": [*(term.get("matchFields") or []), here]} for term in terms]
    required = {_REQUIRED: {"nodeSelectorTerms": bound}}
    return spec | {"affinity": affinity | {"nodeAffinity": node | required}}
