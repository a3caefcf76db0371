"""ConfigMaps and Secrets that a pod refers to, and what is said when one is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from penstock.engine.podspec import Container, KeyRef, Pod, Volume, WholeRef

Reference = tuple[str, str]
"""Kind and name: `("Secret", "slurm-auth-jwt")`; the namespace is always the pod's."""


class VolumeError(Exception):
    """A volume cannot be had as it is written; the message names the pod, the volume and the cause."""


class MissingReference(VolumeError):
    """Something that a pod refers to is not there (yet): wait for it and try again."""


class Sources(Protocol):
    """Where contents come from, already decoded; None where there is no such object."""

    def config_map(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """The keys of a ConfigMap, `data` and `binaryData` together."""

    def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """The keys of a Secret."""


def whole(sources: Sources, kind: str, namespace: str, name: str, *, optional: bool) -> Mapping[str, bytes]:
    """All keys of an object."""
    look = sources.config_map if kind == "ConfigMap" else sources.secret
    found = look(namespace, name)
    if found is None and not optional:
        raise MissingReference(f"{kind} {namespace}/{name} does not exist")
    return found or {}


def key_of(found: Mapping[str, bytes], key: str, *, what: str) -> bytes:
    """One key of an object; `what` is its kind, namespace and name."""
    if key not in found:
        raise MissingReference(f"{what} has no key {key}")
    return found[key]


def references(pod: Pod) -> set[Reference]:
    """Everything that a pod refers to, in volumes and in variables: a change of it concerns the pod."""
    named = {one for volume in pod.spec.volumes for one in _of_volume(volume)}
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        named |= set(_of_container(container))
    return named


def _of_volume(volume: Volume) -> Iterator[Reference]:
    if volume.config_map:
        yield "ConfigMap", volume.config_map.name
    if volume.secret:
        yield "Secret", volume.secret.secret_name
    if volume.persistent_volume_claim:
        yield "PersistentVolumeClaim", volume.persistent_volume_claim.claim_name
    for source in volume.projected.sources if volume.projected else ():
        if source.config_map:
            yield "ConfigMap", source.config_map.name
        if source.secret:
            yield "Secret", source.secret.name


def _of_container(container: Container) -> Iterator[Reference]:
    pairs: list[tuple[str, KeyRef | WholeRef | None]] = []
    for origin in container.env_from:
        pairs += [("ConfigMap", origin.config_map_ref), ("Secret", origin.secret_ref)]
    for variable in container.env:
        if origin_of := variable.value_from:
            pairs += [("ConfigMap", origin_of.config_map_key_ref), ("Secret", origin_of.secret_key_ref)]
    yield from ((kind, reference.name) for kind, reference in pairs if reference)
