"""Places of this machine that all clusters share."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.engine.layout import state_root


def images_directory() -> Path:
    """Where images are; `PENSTOCK_IMAGES` names another place."""
    return Path(os.environ.get("PENSTOCK_IMAGES") or state_root() / "images")
