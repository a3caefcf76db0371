"""What is in the ConfigMaps and Secrets that kinds refer to.

Watches keep only metadata: a namespace may hold thousands of objects that are none of our business, with megabytes in
them. What is referred to is fetched when it is needed, and again when its resource version says that it changed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from penstock.api.kinds import Kind
from penstock.cluster.errors import NotFound
from penstock.cluster.port import Cluster
from penstock.cluster.resources import Lean, Resource
from penstock.operator.once import once
from penstock.operator.resources import CONFIG_MAPS, SECRETS, Content
from penstock.operator.views import View
from penstock.render.inventory import References
from penstock.render.keyring import ring_reference
from penstock.render.missing import config_map_references, secret_references

_Place = tuple[str, str, str]
_Known = tuple[AbstractSet[str], Mapping[str, Any]]
"""The versions that stand for a content, and its files or values."""
_UNKNOWN: _Known = (frozenset(), {})


class Contents:
    """Reads ConfigMaps and Secrets, each version once."""

    def __init__(self, cluster: Cluster, config_maps: View[Lean], secrets: View[Lean]) -> None:
        self._cluster = cluster
        self._views: dict[str, View[Lean]] = {CONFIG_MAPS.kind: config_maps, SECRETS.kind: secrets}
        self._known: dict[_Place, _Known] = {}
        self._made: dict[_Place, str] = {}
        """The uids of what we wrote and the watch has never shown."""
        secrets.subscribe(self._shown)

    async def config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """The files of a ConfigMap; None when there is none."""
        return await self._read(CONFIG_MAPS, namespace, name)

    async def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """The values of a Secret; None when there is none."""
        return await self._read(SECRETS, namespace, name)

    async def fetch_secret(self, namespace: str, name: str) -> Mapping[str, bytes]:
        """The values of a Secret that must be there, whatever the watch has seen."""
        fetched: Content = await self._cluster.get(SECRETS.reading(Content), name, namespace)
        return _values(fetched.data)

    def wrote_secret(self, written: Lean, data: Mapping[str, str]) -> None:
        """Remember what we wrote, so that the old content is not read again while the watch is behind."""
        meta = written.metadata
        seen = self._views[SECRETS.kind].get(meta.name, meta.namespace)
        versions = {meta.resource_version, *([seen.metadata.resource_version] if seen else [])}
        place = (SECRETS.kind, meta.namespace, meta.name)
        self._known[place] = (versions, _values(data))
        if seen is None or seen.metadata.uid != meta.uid:
            self._made[place] = meta.uid

    async def references(self, kinds: Iterable[Kind]) -> References:
        """Everything that these kinds refer to, as far as it exists."""
        config_maps: dict[tuple[str, str], Mapping[str, str]] = {}
        secrets: dict[tuple[str, str], Mapping[str, bytes]] = {}
        for kind in kinds:
            namespace, (files_of, secrets_of) = kind.metadata.namespace, _names(kind)
            for name in files_of:
                if (files := await self._read(CONFIG_MAPS, namespace, name)) is not None:
                    config_maps[namespace, name] = files
            for name in secrets_of:
                if (values := await self._read(SECRETS, namespace, name)) is not None:
                    secrets[namespace, name] = values
        return References(config_maps=config_maps, secrets=secrets)

    def _shown(self, old: Lean | None, new: Lean | None) -> None:
        if self._made and (item := new or old) is not None:
            place = (SECRETS.kind, item.metadata.namespace, item.metadata.name)
            if self._made.get(place) == item.metadata.uid:
                del self._made[place]

    async def _read(self, resource: Resource[Any], namespace: str, name: str) -> Mapping[str, Any] | None:
        place = (resource.kind, namespace, name)
        seen = self._views[resource.kind].get(name, namespace)
        versions, data = self._known.get(place, _UNKNOWN)
        if seen is None and place in self._made:
            return data
        if seen is None:
            self._known.pop(place, None)
            return None
        if seen.metadata.resource_version not in versions:
            try:
                fetched: Content = await self._cluster.get(resource.reading(Content), name, namespace)
            except NotFound:
                return None
            # The watch may be behind what was fetched: both versions stand for this content until it moves on.
            versions = {seen.metadata.resource_version, fetched.metadata.resource_version}
            data = _values(fetched.data) if resource is SECRETS else fetched.data
            self._known[place] = (versions, data)
        return data


@once
def _names(kind: Kind) -> tuple[list[str], list[str]]:
    """The ConfigMaps and Secrets that a kind refers to, each once."""
    selectors = [*(selector for _, selector in secret_references(kind)), ring_reference(kind)]
    config_maps = dict.fromkeys(one.name for one in config_map_references(kind))
    return [*config_maps], [*dict.fromkeys(one.name for one in selectors if one)]


def _values(data: Mapping[str, str]) -> Mapping[str, bytes]:
    return {key: _bytes(text) for key, text in data.items()}


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""
