"""What may be a name, a label, an annotation, a finalizer or an owner: the API server's rules, in its words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache

from penstock.cluster.resources import OwnerReference
from penstock.cluster.store.records import KeptMeta

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_QUALIFIED = re.compile("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_ENDS = "and must start and end with an alphanumeric character"
_SUBDOMAIN_RULE = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
    rf" (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN.pattern}')"
)
_QUALIFIED_RULE = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} (e.g. 'MyName',  or 'my.name',  or '123-abc',"
    f" regex used for validation is '{_QUALIFIED.pattern}')"
)
_VALUE_RULE = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
    f" (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE.pattern}')"
)
_DOTLESS = frozenset({"namespaces", "services"})
_STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Kubernetes' letters for made-up names: no vowels, so no words, and nothing that looks like something else."""


def generated(prefix: str, uid: str) -> str:
    """A name from `generateName`; its tail comes from the uid, so that simulations repeat it."""
    number = int.from_bytes(hashlib.sha256(uid.encode()).digest())
    tail = ""
    for _ in range(5):
        number, letter = divmod(number, len(_ALPHABET))
        tail += _ALPHABET[letter]
    return prefix[: 63 - len(tail)] + tail


def problems(meta: KeptMeta, *, resource: str, custom: bool) -> Iterator[str]:
    """Everything that is wrong with metadata."""
    if not meta.name:
        yield "metadata.name: Required value: name or generateName is required"
        return
    yield from (f'metadata.name: Invalid value: "{meta.name}": {told}' for told in _in_names(meta.name))
    if resource in _DOTLESS and "." in meta.name:
        yield f'metadata.name: Invalid value: "{meta.name}": must not contain dots'
    if meta.namespace and _in_names(meta.namespace):
        yield f'metadata.namespace: Invalid value: "{meta.namespace}": {_in_names(meta.namespace)[0]}'
    for key, value in meta.labels.items():
        for told in _in_keys(key):
            yield f'metadata.labels: Invalid value: "{key}": {told}'
        for told in _in_values(value):
            yield f'metadata.labels: Invalid value: "{value}": {told}'
    for key in meta.annotations:
        yield from (f'metadata.annotations: Invalid value: "{key}": {told}' for told in _in_keys(key.lower()))
    for index, name in enumerate(meta.finalizers):
        yield from _in_finalizers(name, index, custom=custom)
    yield from _in_owners(meta.owner_references)


@lru_cache(maxsize=4096)
def _in_names(name: str) -> tuple[str, ...]:
    if len(name) > 253:
        return ("must be no more than 253 characters",)
    return () if _SUBDOMAIN.fullmatch(name) else (_SUBDOMAIN_RULE,)


@lru_cache(maxsize=4096)
def _in_keys(key: str) -> tuple[str, ...]:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return (f"prefix part {_SUBDOMAIN_RULE}",)
    if len(name) > 63:
        return ("name part must be no more than 63 bytes",)
    return () if _QUALIFIED.fullmatch(name) else (f"name part {_QUALIFIED_RULE}",)


@lru_cache(maxsize=4096)
def _in_values(value: str) -> tuple[str, ...]:
    if len(value) > 63:
        return ("must be no more than 63 bytes",)
    return () if _VALUE.fullmatch(value) else (_VALUE_RULE,)


def _in_finalizers(name: str, index: int, *, custom: bool) -> Iterator[str]:
    yield from (f'metadata.finalizers: Invalid value: "{name}": {told}' for told in _in_keys(name))
    if not custom and "/" not in name and name not in _STANDARD_FINALIZERS:
        told = "name is neither a standard finalizer name nor is it fully qualified"
        yield f'metadata.finalizers[{index}]: Invalid value: "{name}": {told}'


def _in_owners(owners: tuple[OwnerReference, ...]) -> Iterator[str]:
    for owner in owners:
        for field, value in (("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)):
            if not value:
                yield f'metadata.ownerReferences.{field}: Invalid value: "": must not be empty'
    controllers = [owner for owner in owners if owner.controller]
    if len(controllers) > 1:
        named = " and ".join(f"{owner.kind}/{owner.name}" for owner in controllers[:2])
        only = 'Only one reference can have Controller set to true. Found "true" in references for'
        yield f"metadata.ownerReferences: Invalid value: {only} {named}"
