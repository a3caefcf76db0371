"""What files a volume has, from ConfigMaps, Secrets and the pod itself. Pure: nothing is written here.

Paths come from manifests and keys from anybody who may write a ConfigMap, so none may leave the volume, and none may
look like the names that the writer keeps for itself (they begin with two dots).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from penstock.engine.downward import Facts, NoSuchField, field_value, resource_value
from penstock.engine.podspec import DownwardFile, KeyToPath, Pod, ProjectedSource, Volume
from penstock.engine.volumes.sources import Sources, VolumeError, key_of, whole


@dataclass(frozen=True, slots=True)
class File:
    """A file to be."""

    content: bytes
    mode: int


Files = dict[str, File]
"""Files by their path in the volume."""
_Found = Iterator[tuple[str, str, File]]
"""Path, where it comes from, file."""


def is_filled(volume: Volume) -> bool:
    """Whether the files of a volume are ours to write."""
    return bool(volume.config_map or volume.secret or volume.projected or volume.downward_api)


def has_secrets(volume: Volume) -> bool:
    """Whether a volume must never reach a disk."""
    return bool(volume.secret or (volume.projected and any(source.secret for source in volume.projected.sources)))


def tells_of_pod(volume: Volume) -> bool:
    """Whether a volume shows what the pod says of itself."""
    sources = volume.projected.sources if volume.projected else ()
    return volume.downward_api is not None or any(source.downward_api for source in sources)


def files(volume: Volume, pod: Pod, sources: Sources, facts: Facts) -> Files:
    """The files of a filled volume as they should be now."""
    made: Files = {}
    origins: dict[str, str] = {}
    try:
        for path, origin, file in _found(volume, pod, sources, facts):
            _check(path)
            if made.setdefault(path, file) != file:
                _collide(path, origins[path], origin)
            origins.setdefault(path, origin)
        _check_directories(origins)
    except NoSuchField as problem:
        raise VolumeError(str(problem)) from problem
    return made


def _found(volume: Volume, pod: Pod, sources: Sources, facts: Facts) -> _Found:
    namespace = pod.metadata.namespace
    if one := volume.config_map:
        found = whole(sources, "ConfigMap", namespace, one.name, optional=one.optional)
        what = f"ConfigMap {namespace}/{one.name}"
        yield from _keys(what, found, one.items, mode=one.default_mode, optional=one.optional)
    elif secret := volume.secret:
        found = whole(sources, "Secret", namespace, secret.secret_name, optional=secret.optional)
        what = f"Secret {namespace}/{secret.secret_name}"
        yield from _keys(what, found, secret.items, mode=secret.default_mode, optional=secret.optional)
    elif volume.downward_api:
        yield from _downward(volume.downward_api.items, pod, facts, mode=volume.downward_api.default_mode)
    elif volume.projected:
        for source in volume.projected.sources:
            yield from _projected(source, pod, sources, facts, mode=volume.projected.default_mode)


def _projected(source: ProjectedSource, pod: Pod, sources: Sources, facts: Facts, *, mode: int) -> _Found:
    namespace = pod.metadata.namespace
    for kind, one in (("ConfigMap", source.config_map), ("Secret", source.secret)):
        if one:
            found = whole(sources, kind, namespace, one.name, optional=one.optional)
            yield from _keys(f"{kind} {namespace}/{one.name}", found, one.items, mode=mode, optional=one.optional)
    if source.downward_api:
        yield from _downward(source.downward_api.items, pod, facts, mode=mode)
    if source.service_account_token is not None:
        raise VolumeError(
            "one machine gives no service account tokens; leave the source serviceAccountToken out "
            "(automountServiceAccountToken: false)"
        )


def _keys(what: str, found: Mapping[str, bytes], items: tuple[KeyToPath, ...], *, mode: int, optional: bool) -> _Found:
    if not items:
        yield from ((key, what, File(value, mode)) for key, value in sorted(found.items()))
    for item in items:
        if item.key in found or not optional:
            content = key_of(found, item.key, what=what)
            yield item.path, what, File(content, mode if item.mode is None else item.mode)


def _downward(items: tuple[DownwardFile, ...], pod: Pod, facts: Facts, *, mode: int) -> _Found:
    for item in items:
        value = ""
        if item.field_ref:
            value = field_value(pod, item.field_ref.field_path, facts)
        elif item.resource_field_ref:
            value = resource_value(pod, item.resource_field_ref, facts)
        yield item.path, "the downward API", File(value.encode(), mode if item.mode is None else item.mode)


def _collide(path: str, *origins: str) -> NoReturn:
    # Kubernetes would take the last one without a word, and a key of one Secret would stand where another is meant.
    raise VolumeError(f"{' and '.join(origins)} both bring a file {path}; give one of them another path")


def _check(path: str) -> None:
    words = path.split("/")
    bad = not path or "\0" in path or any(word in {"", ".", ".."} for word in words) or words[0].startswith("..")
    if bad or any(len(word.encode()) > 255 for word in words):
        raise VolumeError(
            f'"{path}" is no path within a volume; use names with / between, none of them beginning with ..'
        )


def _check_directories(origins: Mapping[str, str]) -> None:
    for path, origin in origins.items():
        words = path.split("/")
        for depth in range(1, len(words)):
            if other := origins.get("/".join(words[:depth])):
                raise VolumeError(
                    f"{path} of {origin} lies below {'/'.join(words[:depth])} of {other}, which is a file"
                )
