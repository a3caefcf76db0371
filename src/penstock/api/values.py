"""Chart values with `nodesets`: read as the NodeSets that a release would make of them.

People keep their sets in a values.yaml, as a map by name or as a list with `name`. Reading it here shows what would
become of it without a release: names, pods, claims, partition lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.api.kinds import API_VERSION
from penstock.api.objects import Json

_SPEC_FIELDS = frozenset({
    "replicas", "scalingMode", "slurmd", "ssh", "logfile", "extraConf", "partition", "volumeClaimTemplates",
    "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
    "ordinalPadding", "pinToNode", "workloadDisruptionProtection", "pruneSlurmNodeRecords", "oversubscribeNode",
    "registration", "drain", "autoscale", "imageContract",
})  # fmt: skip
_CONTAINER_FIELDS = ("image", "securityContext", "resources", "env", "args", "volumeMounts")


def is_values(document: Json) -> bool:
    """Whether a document is chart values rather than an object."""
    return "kind" not in document and isinstance(document.get("nodesets"), dict | list)


def node_sets(values: Json, *, release: str, namespace: str) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    """NodeSet objects with the path of the values they come from; sets that are switched off are left out."""
    for path, key, entry in _entries(values["nodesets"]):
        if entry.get("enabled", True):
            yield path, _node_set(key, entry, release=release, namespace=namespace)


def _entries(listed: Any) -> Iterator[tuple[tuple[str | int, ...], str, Json]]:
    if isinstance(listed, dict):
        yield from ((("nodesets", key), key, entry or {}) for key, entry in listed.items())
    else:
        for index, entry in enumerate(listed):
            yield ("nodesets", index), str(entry.get("name", index)), entry


def _node_set(key: str, entry: Json, *, release: str, namespace: str) -> Json:
    spec: Json = {name: value for name, value in entry.items() if name in _SPEC_FIELDS}
    lifted = {name: entry[name] for name in _CONTAINER_FIELDS if name in entry}
    spec["slurmd"] = lifted | (spec.get("slurmd") or {})
    # The key names the Slurm nodes, as every release does it: `gpu-0`, not `slurm-worker-gpu-0`.
    spec["template"] = {
        "metadata": entry.get("metadata") or {},
        "spec": {**(entry.get("podSpec") or {}), "hostname": f"{key}-"},
    }
    spec["controllerRef"] = {"name": release}
    metadata = {"name": f"{release}-worker-{key}", "namespace": namespace}
    return {"apiVersion": API_VERSION, "kind": "NodeSet", "metadata": metadata, "spec": spec}
