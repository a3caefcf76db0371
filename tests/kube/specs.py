"""The least that each kind needs, and for every rule one change to that which breaks it.

Rules are named by their kind and the field that a person has to look at. A change is a merge patch: None takes a field
out. All of them start at the minimal spec, so that creating and updating can be tried with the same table.
"""

from typing import Any

from penstock.api.kinds import API_VERSION

Spec = dict[str, Any]
RuleName = tuple[str, str]

KEY = {"name": "keys", "key": "slurm.key"}
MINIMAL: dict[str, Spec] = {
    "Accounting": {"slurmKeyRef": KEY, "jwtKeyRef": KEY, "storageConfig": {"host": "db", "passwordKeyRef": KEY}},
    "Controller": {"slurmKeyRef": KEY, "jwtKeyRef": KEY},
    "LoginSet": {"controllerRef": {"name": "slurm"}, "sssdConfRef": KEY},
    "NodeSet": {"controllerRef": {"name": "slurm"}},
    "RestApi": {"controllerRef": {"name": "slurm"}},
    "Token": {"username": "alice", "jwtKeyRef": KEY},
}
BROKEN: dict[RuleName, Spec] = {
    ("Accounting", "slurmKeyRef"): {"slurmKeyRef": None},
    ("Accounting", "jwtKeyRef"): {"jwtKeyRef": None},
    ("Accounting", "externalConfig"): {"external": True},
    ("Controller", "slurmKeyRef"): {"slurmKeyRef": None},
    ("Controller", "jwtKeyRef"): {"jwtKeyRef": None},
    ("Controller", "externalConfig"): {"external": True},
    ("Controller", "ha"): {"ha": {"enabled": True}},
    ("LoginSet", "controllerRef.name"): {"controllerRef": {"name": ""}},
    ("LoginSet", "sssdConfRef.name"): {"sssdConfRef": {"name": "", "key": "sssd.conf"}},
    ("NodeSet", "controllerRef.name"): {"controllerRef": {"name": ""}},
    ("NodeSet", "updateStrategy.rollingUpdate.maxUnavailable"): {
        "updateStrategy": {"rollingUpdate": {"maxUnavailable": "0%"}}
    },
    ("NodeSet", "updateStrategy.scheduledUpdate"): {"updateStrategy": {"type": "ScheduledUpdate"}},
    ("NodeSet", "updateStrategy.scheduledUpdate.duration"): {
        "updateStrategy": {"scheduledUpdate": {"startTime": "2026-11-16T08:00:00Z", "duration": "59s"}}
    },
    ("NodeSet", "ssh.sssdConfRef.name"): {"ssh": {"enabled": True, "sssdConfRef": {"key": "sssd.conf"}}},
    ("NodeSet", "walls"): {"walls": {}},
    ("NodeSet", "autoscale.minReplicas"): {"autoscale": {"minReplicas": 2}},
    ("RestApi", "controllerRef.name"): {"controllerRef": {"name": ""}},
    ("Token", "jwtKeyRef"): {"jwtKeyRef": None},
    ("Token", "lifetime"): {"lifetime": "0s"},
}
"""For every rule about a spec, a change that breaks it."""
OTHER = {"name": "other", "key": "slurm.key"}
FORBIDDEN: dict[RuleName, Spec] = {
    ("Accounting", "jwtKeyRef"): {"jwtKeyRef": OTHER},
    ("Controller", "clusterName"): {"clusterName": "other"},
    ("Controller", "slurmKeyRef"): {"slurmKeyRef": OTHER},
    ("Controller", "jwtKeyRef"): {"jwtKeyRef": OTHER},
    ("Controller", "persistence.enabled"): {"persistence": {"enabled": False}},
    ("Controller", "persistence.existingClaim"): {"persistence": {"existingClaim": "other"}},
    ("LoginSet", "controllerRef"): {"controllerRef": {"name": "other"}},
    ("NodeSet", "controllerRef"): {"controllerRef": {"name": "other"}},
    ("NodeSet", "volumeClaimTemplates"): {"volumeClaimTemplates": [{"metadata": {"name": "scratch"}}]},
    ("Token", "jwtKeyRef"): {"jwtKeyRef": OTHER},
}
"""For every rule about a change, a change that it forbids."""


def an_object(kind: str, name: str, change: Spec | None = None) -> dict[str, Any]:
    """An object of a kind, minimal but for a change."""
    spec = {field: value for field, value in (MINIMAL[kind] | (change or {})).items() if value is not None}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
