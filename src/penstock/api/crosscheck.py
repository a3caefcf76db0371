"""Do objects fit together? What one object cannot show: colliding names, partitions over sets that are not there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from penstock.api.controller import Controller
from penstock.api.kinds import Kind
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet
from penstock.api.problems import Path, Problem, Severity

_T = TypeVar("_T")

_OWN_FILES = ("slurm.conf", "slurmdbd.conf")
_KNOWN_FILES = frozenset({
    "acct_gather.conf", "burst_buffer.conf", "cgroup.conf", "cli_filter.lua", "gres.conf", "helpers.conf",
    "job_container.conf", "job_submit.lua", "mpi.conf", "namespace.yaml", "oci.conf", "plugstack.conf",
    "topology.conf", "topology.yaml",
})  # fmt: skip

ConfigMaps = Mapping[tuple[str, str], Mapping[str, str]]


def crosscheck(
    kinds: Sequence[Kind], config_maps: ConfigMaps, unusable: Collection[tuple[str, str]] = ()
) -> Iterator[tuple[Kind, Problem]]:
    """Every problem between objects, with the object to change.

    `unusable` are namespaces and names of objects that are there but have errors of their own: nobody misses them.
    """
    yield from _twice(kinds)
    yield from _ssh_config_names(kinds)
    yield from _slurm_names([kind for kind in kinds if isinstance(kind, NodeSet)])
    for controller in (kind for kind in kinds if isinstance(kind, Controller)):
        node_sets = [one for one in kinds if isinstance(one, NodeSet) and _belongs(one, controller)]
        yield from _partitions(controller, node_sets, unusable)
        yield from _files(controller, config_maps)


def _belongs(node_set: NodeSet, controller: Controller) -> bool:
    mine = (controller.metadata.namespace, controller.metadata.name)
    return (node_set.metadata.namespace, node_set.spec.controller_ref.name) == mine


def _twice(kinds: Iterable[Kind]) -> Iterator[tuple[Kind, Problem]]:
    for _, same in _grouped(kinds, lambda kind: (kind.kind, kind.metadata.namespace, kind.metadata.name)):
        for kind in same[1:]:
            path: Path = ("metadata", "name")
            yield (
                kind,
                Problem(path=path, message=f'{kind.kind} "{kind.metadata.name}" is defined twice', mend="keep one"),
            )


def _slurm_names(node_sets: Sequence[NodeSet]) -> Iterator[tuple[Kind, Problem]]:
    for _, same in _grouped(node_sets, _name_in_cluster):
        for node_set in (one for one in same if one.metadata.name != same[0].metadata.name):
            message = f'is called "{node_set.slurm_name}" inside Slurm, and so is NodeSet "{same[0].metadata.name}"'
            path: Path = ("spec", "template", "spec", "hostname")
            yield node_set, Problem(path=path, message=message, mend="give each its own hostname prefix")


def _name_in_cluster(node_set: NodeSet) -> tuple[str, str, str]:
    return node_set.metadata.namespace, node_set.spec.controller_ref.name, node_set.slurm_name


def _ssh_config_names(kinds: Sequence[Kind]) -> Iterator[tuple[Kind, Problem]]:
    logins = {(kind.metadata.namespace, kind.metadata.name) for kind in kinds if isinstance(kind, LoginSet)}
    for kind in kinds:
        runs_sshd = isinstance(kind, NodeSet) and kind.spec.ssh is not None and kind.spec.ssh.enabled
        if runs_sshd and (kind.metadata.namespace, kind.metadata.name) in logins:
            message = f'a LoginSet is called "{kind.metadata.name}" too, and both would make its -ssh-config ConfigMap'
            yield kind, Problem(path=("metadata", "name"), message=message, mend="rename one of them")


def _partitions(
    controller: Controller, node_sets: Sequence[NodeSet], unusable: Collection[tuple[str, str]]
) -> Iterator[tuple[Kind, Problem]]:
    known = {node_set.metadata.name for node_set in node_sets}
    known |= {name for namespace, name in unusable if namespace == controller.metadata.namespace}
    own = {node_set.slurm_name for node_set in node_sets if node_set.spec.partition.enabled}
    for index, partition in enumerate(controller.spec.partitions):
        for place, name in enumerate(partition.node_sets):
            if name not in known and name != "ALL":
                path: Path = ("spec", "partitions", index, "nodeSets", place)
                yield (
                    controller,
                    Problem(
                        path=path,
                        message=f'NodeSet "{name}" is not among these manifests',
                        mend="name one that is, or ALL",
                        severity=Severity.WARNING,
                    ),
                )
        if partition.name in own:
            message = f'partition "{partition.name}" is also made by a NodeSet of that name'
            yield (
                controller,
                Problem(
                    path=("spec", "partitions", index, "name"),
                    message=message,
                    mend="rename it, or set partition.enabled: false there",
                ),
            )


def _files(controller: Controller, config_maps: ConfigMaps) -> Iterator[tuple[Kind, Problem]]:
    for index, reference in enumerate(controller.spec.config_file_refs):
        path: Path = ("spec", "configFileRefs", index)
        for name in config_maps.get((controller.metadata.namespace, reference.name), {}):
            if name in _OWN_FILES:
                message = f'ConfigMap "{reference.name}" holds {name}, which Penstock writes itself'
                yield controller, Problem(path=path, message=message, mend="put its settings into extraConf")
            elif name not in _KNOWN_FILES:
                message = f'ConfigMap "{reference.name}" holds {name}, which Slurm does not read by itself'
                mend = "name it as Slurm does, or include it from a file that Slurm reads"
                yield controller, Problem(path=path, message=message, mend=mend, severity=Severity.WARNING)


def _grouped(items: Iterable[_T], key: Callable[[_T], object]) -> Iterator[tuple[object, list[_T]]]:
    groups: defaultdict[object, list[_T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    yield from groups.items()
