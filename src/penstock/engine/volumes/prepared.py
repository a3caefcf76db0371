"""The volumes of a pod on this machine: made, kept current, removed.

```
<pod directory>/volumes/<volume>                what we make: files, emptyDirs
<pod directory>/subpaths/<container>/<number>   parts of volumes, pinned
```

Claims and host paths stay where they are. All of this blocks: call it in a thread. All of it can be done again: an
engine that died in between finds what it made.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.api import patterns
from penstock.api.scalars import Quantity, ScalarError
from penstock.engine import mounts
from penstock.engine.downward import Facts
from penstock.engine.expansion import expand
from penstock.engine.podspec import Container, EmptyDir, Pod, Volume, VolumeMount
from penstock.engine.volumes.contents import files, has_secrets, is_filled
from penstock.engine.volumes.host_path import host_path
from penstock.engine.volumes.ownership import give_to_group
from penstock.engine.volumes.sources import Sources, VolumeError
from penstock.engine.volumes.subpath import pin
from penstock.engine.volumes.writer import write

Claims = Callable[[str, str], Path]
"""The directory of a claim, by namespace and name; raises MissingReference while it has none."""

_VOLUMES, _SUB_PATHS = "volumes", "subpaths"


@dataclass(frozen=True, slots=True)
class Bind:
    """What a container is to see where."""

    source: Path
    target: str
    read_only: bool
    propagation: str = "None"
    """As Kubernetes says it: None, HostToContainer, Bidirectional."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A volume that can be mounted."""

    path: Path
    read_only: bool
    filled: bool
    """Its files are ours: nothing is made in it on behalf of a subPath."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The volumes of a pod, by name."""

    directory: Path
    volumes: Mapping[str, Ready]


def prepare(pod: Pod, directory: Path, sources: Sources, claims: Claims, *, facts: Facts | None = None) -> Prepared:
    """Make the volumes of a pod below its directory, or find them."""
    told = facts or Facts()
    ready: dict[str, Ready] = {}
    for volume in pod.spec.volumes:
        with _about(f"volume {volume.name}"):
            _check_name(volume.name)
            ready[volume.name] = _ready(volume, pod, directory, sources, claims, told)
    return Prepared(directory, ready)


def refresh(pod: Pod, directory: Path, sources: Sources, *, facts: Facts | None = None) -> bool:
    """Bring the files of ConfigMaps, Secrets and the pod's own fields up to date; whether any changed.

    Whose source is gone keeps its files, and the others are done before that is said.
    """
    changed = False
    problems: list[VolumeError] = []
    for volume in pod.spec.volumes:
        if is_filled(volume) and _is_made(directory / _VOLUMES / volume.name, volume):
            try:
                with _about(f"volume {volume.name}"):
                    made = files(volume, pod, sources, facts or Facts())
                    changed |= write(directory / _VOLUMES / volume.name, made, group=pod.spec.security_context.fs_group)
            except VolumeError as problem:
                problems.append(problem)
    if problems:
        raise problems[0]
    return changed


def binds(container: Container, prepared: Prepared, *, env: Mapping[str, str] | None = None) -> list[Bind]:
    """What a container mounts, the outer ones first; `env` are its variables, for subPathExpr."""
    made = []
    for number, mount in enumerate(container.volume_mounts):
        with _about(f"container {container.name}, volume {mount.name}"):
            made.append(_bind(container, number, mount, prepared, env or {}))
    return sorted(made, key=lambda bind: len(Path(bind.target).parts))


def remove(directory: Path) -> None:
    """Remove the directory of a pod with all that is mounted below; what claims and host paths hold is not touched."""
    if not directory.exists():
        return
    mounts.unmount_below(directory)
    if left := mounts.mounted_below(directory):
        # Removing files through a mount would remove somebody's data.
        raise VolumeError(f"{left[0].target} is still mounted, so {directory} stays; unmount it and try again")
    shutil.rmtree(directory)


@contextmanager
def _about(what: str) -> Iterator[None]:
    """Let a problem say whose it is."""
    try:
        yield
    except VolumeError as problem:
        raise type(problem)(f"{what}: {problem}") from problem
    except OSError as problem:
        raise VolumeError(f"{what}: {problem}") from problem


def _check_name(name: str) -> None:
    # It becomes part of a path of ours.
    if not re.fullmatch(patterns.NAMESPACE, name):
        raise VolumeError("this is no name; use lower case letters, digits and -")


def _ready(volume: Volume, pod: Pod, directory: Path, sources: Sources, claims: Claims, facts: Facts) -> Ready:
    place, group = directory / _VOLUMES / volume.name, pod.spec.security_context.fs_group
    if volume.host_path:
        return Ready(host_path(volume.host_path), read_only=False, filled=False)
    if claim := volume.persistent_volume_claim:
        path = claims(pod.metadata.namespace, claim.claim_name)
        if group is not None and not claim.read_only:
            give_to_group(path, group)
        return Ready(path, read_only=claim.read_only, filled=False)
    if is_filled(volume):
        # Looked up first: what is missing must not leave an empty directory for a container to start with.
        made = files(volume, pod, sources, facts)
        _make(place, in_memory=has_secrets(volume), mode=0o755)
        write(place, made, group=group)
        return Ready(place, read_only=True, filled=True)
    if volume.empty_dir is None:
        raise VolumeError("this kind of volume is not known on one machine; use emptyDir, hostPath, or a claim")
    if volume.empty_dir.medium not in {"", "Memory"}:
        raise VolumeError(f'emptyDir of medium "{volume.empty_dir.medium}" is not known here; use Memory, or none')
    in_memory = volume.empty_dir.medium == "Memory"
    _make(place, in_memory=in_memory, mode=0o777, size=_size(volume.empty_dir))
    if group is not None:
        give_to_group(place, group)
    return Ready(place, read_only=False, filled=False)


def _is_made(place: Path, volume: Volume) -> bool:
    """Whether `prepare` was here; after a restart of the machine a directory may be left where memory was mounted."""
    return place.is_dir() and (not has_secrets(volume) or mounts.is_mounted(place))


def _make(place: Path, *, in_memory: bool, mode: int, size: int | None = None) -> None:
    """Make a directory with this mode; once made, its mode is its users' business."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if in_memory:
        place.mkdir(exist_ok=True)
        if not mounts.is_mounted(place):
            mounts.tmpfs(place, size=size, mode=mode)
    elif not place.exists():
        fresh = place.with_name(f"..{place.name}")
        fresh.mkdir(exist_ok=True)
        fresh.chmod(mode)
        fresh.rename(place)


def _size(empty: EmptyDir) -> int | None:
    if empty.size_limit is None:
        return None
    try:
        return Quantity.parse(empty.size_limit).whole
    except ScalarError as problem:
        raise VolumeError(f"sizeLimit: {problem}") from problem


def _bind(container: Container, number: int, mount: VolumeMount, prepared: Prepared, env: Mapping[str, str]) -> Bind:
    volume = prepared.volumes.get(mount.name)
    if volume is None:
        raise VolumeError("the pod has no volume of this name")
    read_only = mount.read_only or volume.read_only
    sub_path = _sub_path(mount, env)
    source = volume.path
    if sub_path:
        place = prepared.directory / _SUB_PATHS / container.name / str(number)
        _check_name(container.name)
        source = pin(volume.path, sub_path, place, make=not (volume.filled or volume.read_only))
    return Bind(source, mount.mount_path, read_only, mount.mount_propagation)


def _sub_path(mount: VolumeMount, env: Mapping[str, str]) -> str:
    if not mount.sub_path_expr:
        return mount.sub_path
    expanded = expand(mount.sub_path_expr, env)
    if "$(" in expanded:
        raise VolumeError(f'subPathExpr "{mount.sub_path_expr}" names an unknown variable')
    return expanded
