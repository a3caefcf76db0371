"""Chart values with `nodesets`: read as the NodeSets that a release would make of them.

People keep their sets in a values.yaml, as a map by name or as a list with `name`. Reading it here shows what would
become of it without a release: names, pods, claims, partition lines. What is wrong in an entry is left in its place
for validation to find, so that it is told like any other mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.api.kinds import API_VERSION
from penstock.api.objects import Json
from penstock.api.problems import Path

_CONTAINER_FIELDS = ("image", "securityContext", "resources", "env", "args", "volumeMounts")
_OF_THE_CHART = frozenset({"name", "enabled", "metadata", "podSpec", *_CONTAINER_FIELDS})


def is_values(document: Json) -> bool:
    """Whether a document is chart values rather than an object."""
    return "kind" not in document and isinstance(document.get("nodesets"), dict | list)


def node_sets(values: Json, *, release: str, namespace: str) -> Iterator[tuple[Path, Json]]:
    """NodeSet objects with the path of the values they come from; sets that are switched off are left out."""
    for path, key, entry in _entries(values["nodesets"]):
        if not isinstance(entry, dict) or entry.get("enabled", True):
            yield path, _node_set(key, entry, release=release, namespace=namespace)


def path_in_values(entry: Path, path: Path) -> Path:
    """Where a field of a NodeSet stands in the values: `spec.replicas` as `nodesets.gpu.replicas`."""
    if path[:3] == ("spec", "template", "spec"):
        return (*entry, "podSpec", *path[3:])
    if path[:2] == ("spec", "template"):
        return (*entry, *path[2:])
    return (*entry, *path[1:]) if path[:1] == ("spec",) else entry


def _entries(listed: Any) -> Iterator[tuple[Path, str, Any]]:
    if isinstance(listed, dict):
        yield from ((("nodesets", key), key, {} if entry is None else entry) for key, entry in listed.items())
    else:
        for index, entry in enumerate(listed):
            name = entry.get("name", index) if isinstance(entry, dict) else index
            yield ("nodesets", index), str(name), {} if entry is None else entry


def _node_set(key: str, entry: Any, *, release: str, namespace: str) -> Json:
    metadata = {"name": f"{release}-worker-{key}", "namespace": namespace}
    spec = _spec(key, entry, release=release) if isinstance(entry, dict) else entry
    return {"apiVersion": API_VERSION, "kind": "NodeSet", "metadata": metadata, "spec": spec}


def _spec(key: str, entry: Json, *, release: str) -> Json:
    spec: Json = {name: value for name, value in entry.items() if name not in _OF_THE_CHART}
    lifted = {name: entry[name] for name in _CONTAINER_FIELDS if name in entry}
    spec["slurmd"] = _joined(lifted, spec.get("slurmd"))
    # The key names the Slurm nodes, as every release does it: `gpu-0`, not `slurm-worker-gpu-0`.
    pod = _joined({}, entry.get("podSpec"))
    spec["template"] = {
        "metadata": _joined({}, entry.get("metadata")),
        "spec": pod | {"hostname": f"{key}-"} if isinstance(pod, dict) else pod,
    }
    spec["controllerRef"] = {"name": release}
    return spec


def _joined(ours: Json, theirs: Any) -> Any:
    """Two maps as one, theirs on top; what is not a map stays as it is, for validation to find."""
    return ours if theirs is None else ours | theirs if isinstance(theirs, dict) else theirs
