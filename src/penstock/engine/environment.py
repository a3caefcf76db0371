"""The variables of a container: written down, referred to, or told about the pod, as kubelet puts them together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.engine.downward import Facts, NoSuchField, field_value, resource_value
from penstock.engine.expansion import expand
from penstock.engine.podspec import Container, EnvFrom, KeyRef, Pod, ValueFrom
from penstock.engine.volumes.sources import Sources, VolumeError, key_of, whole

_NAME = re.compile(r"[ -<>-~]+")
"""Kubernetes 1.34 takes every printable ASCII character but `=`."""


class BadVariable(VolumeError):
    """A variable whose value no process can be given."""


def environment(container: Container, pod: Pod, sources: Sources, facts: Facts) -> dict[str, str]:
    """The variables in their order: whole objects first, then those of their own, later ones win."""
    known: dict[str, str] = {}
    for origin in container.env_from:
        known |= dict(_whole(origin, pod, sources))
    for variable in container.env:
        if variable.value_from is None:
            known[variable.name] = expand(variable.value, known)
        elif (value := _looked_up(variable.value_from, container, pod, sources, facts)) is not None:
            known[variable.name] = value
    for name, value in known.items():
        if "\0" in value or not name or "=" in name or "\0" in name:
            raise BadVariable(f"container {container.name}: variable {name!r} cannot be handed to a process")
    return known


def _whole(origin: EnvFrom, pod: Pod, sources: Sources) -> Iterator[tuple[str, str]]:
    """Every key as a variable; keys that cannot be names are passed over, as kubelet does."""
    pairs = (("ConfigMap", origin.config_map_ref), ("Secret", origin.secret_ref))
    for kind, reference in pairs:
        if reference:
            namespace = pod.metadata.namespace
            found = whole(sources, kind, namespace, reference.name, optional=reference.optional)
            for key, value in sorted(found.items()):
                if _NAME.fullmatch(origin.prefix + key):
                    yield origin.prefix + key, _text(value, f"{kind} {namespace}/{reference.name}, key {key}")


def _looked_up(origin: ValueFrom, container: Container, pod: Pod, sources: Sources, facts: Facts) -> str | None:
    try:
        if origin.field_ref:
            return field_value(pod, origin.field_ref.field_path, facts)
        if origin.resource_field_ref:
            return resource_value(pod, origin.resource_field_ref, facts, container=container)
    except NoSuchField as problem:
        raise BadVariable(f"container {container.name}: {problem}") from problem
    if origin.config_map_key_ref:
        return _key("ConfigMap", origin.config_map_key_ref, pod, sources)
    if origin.secret_key_ref:
        return _key("Secret", origin.secret_key_ref, pod, sources)
    return ""


def _key(kind: str, reference: KeyRef, pod: Pod, sources: Sources) -> str | None:
    """The value of a key; None when it may be missing and is."""
    namespace = pod.metadata.namespace
    what = f"{kind} {namespace}/{reference.name}"
    found = whole(sources, kind, namespace, reference.name, optional=reference.optional)
    if reference.optional and reference.key not in found:
        return None
    return _text(key_of(found, reference.key, what=what), f"{what}, key {reference.key}")


def _text(value: bytes, what: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise BadVariable(f"{what}: its bytes are no text, so no variable can hold it; mount it as a file") from None
