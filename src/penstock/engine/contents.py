"""What ConfigMaps and Secrets hold, for the volumes and variables of pods."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.cluster.informer import Informer
from penstock.cluster.resources import Lean, Resource


class Content(Lean, frozen=True, rename="camel"):
    """A ConfigMap or a Secret, with all that it holds."""

    data: dict[str, str] = {}
    binary_data: dict[str, str] = {}


CONFIG_MAPS: Resource[Content] = Resource("", "v1", "configmaps", "ConfigMap", Content)
SECRETS: Resource[Content] = Resource("", "v1", "secrets", "Secret", Content)


@dataclass(slots=True)
class Contents:
    """What ConfigMaps and Secrets hold, from what the store tells."""

    config_maps: Informer[Content]
    secrets: Informer[Content]

    def config_map(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """The keys of a ConfigMap."""
        found = self.config_maps.get(name, namespace)
        if found is None:
            return None
        plain = {key: text.encode() for key, text in found.data.items()}
        return plain | {key: base64.b64decode(text) for key, text in found.binary_data.items()}

    def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """The keys of a Secret."""
        found = self.secrets.get(name, namespace)
        return None if found is None else {key: base64.b64decode(text) for key, text in found.data.items()}
