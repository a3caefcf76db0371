"""Hiding what must not stand on a screen: a rendering to look at has the shape of Secrets, not their content."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.api.objects import Json
    from penstock.render.everything import Rendered

_PASSWORD = re.compile(r"^(StoragePass=).*$", re.MULTILINE)
HIDDEN = "(hidden)"


def hidden(rendered: Rendered) -> Rendered:
    """The same, with passwords and keys replaced."""
    files = {name: _PASSWORD.sub(rf"\1{HIDDEN}", text) for name, text in rendered.files.items()}
    return replace(rendered, manifests=[_hidden_secret(one) for one in rendered.manifests], files=files)


def _hidden_secret(manifest: Json) -> Json:
    if manifest["kind"] != "Secret" or "data" not in manifest:
        return manifest
    shown = {key: value for key, value in manifest.items() if key != "data"}
    return shown | {"stringData": {name: _hidden_value(name, encoded) for name, encoded in manifest["data"].items()}}


def _hidden_value(name: str, encoded: str) -> str:
    """A configuration file without its password; of anything else, nothing."""
    if not name.endswith(".conf"):
        return HIDDEN
    return _PASSWORD.sub(rf"\1{HIDDEN}", base64.b64decode(encoded).decode())
