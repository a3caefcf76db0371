"""Prolog and epilog scripts: ConfigMaps whose keys become executable files in /etc/slurm."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.objects import Json, LocalObjectReference
from penstock.render.inventory import Cluster
from penstock.slurm.conf import ConfError

_MADE = ("slurm.conf", "cgroup.conf", "gres.conf", "plugstack.conf", "topology.yaml")
_KEYS = ("slurm.key", "slurm.jwks", "jwt.key", "jwks.json")


def script_names(cluster: Cluster, references: Iterable[LocalObjectReference]) -> list[str]:
    """File names of all scripts in the referenced ConfigMaps, sorted together."""
    origins = _origins(cluster)
    wanted = {reference.name for reference in references}
    return sorted(script for script, config_map in origins.items() if config_map in wanted)


def script_files(cluster: Cluster) -> dict[str, str]:
    """The scripts by their file names."""
    maps = (
        cluster.references.config_map(cluster.namespace, LocalObjectReference(name)) for name in _config_maps(cluster)
    )
    return {script: text for files in maps for script, text in (files or {}).items()}


def script_sources(cluster: Cluster) -> list[Json]:
    """The ConfigMaps as parts of /etc/slurm. Where their keys are not known yet, their files lack the x bit."""
    return [_source(cluster, name) for name in _config_maps(cluster)]


def _source(cluster: Cluster, name: str) -> Json:
    known = cluster.references.config_map(cluster.namespace, LocalObjectReference(name))
    if known is None:
        return {"configMap": {"name": name}}
    return {"configMap": {"name": name, "items": [{"key": key, "path": key, "mode": 0o550} for key in sorted(known)]}}


def _origins(cluster: Cluster) -> dict[str, str]:
    """Which ConfigMap each script is from. Kubernetes refuses a pod with two files of one name, so we do."""
    origins = dict.fromkeys((*_MADE, *_KEYS), "Penstock itself")
    scripts: dict[str, str] = {}
    for name in _config_maps(cluster):
        for script in cluster.references.config_map(cluster.namespace, LocalObjectReference(name)) or ():
            if script in origins:
                raise ConfError(f'script "{script}" is in ConfigMap "{name}" and in {origins[script]}; rename one')
            origins[script] = f'ConfigMap "{name}"'
            scripts[script] = name
    return scripts


def _config_maps(cluster: Cluster) -> list[str]:
    spec = cluster.controller.spec
    references = [
        *spec.prolog_script_refs,
        *spec.epilog_script_refs,
        *spec.prolog_slurmctld_script_refs,
        *spec.epilog_slurmctld_script_refs,
    ]
    return sorted({reference.name for reference in references})
