"""What the tests of images share."""

from pathlib import Path

import pytest

from penstock.walls.images.store import Store

from .brought import LAYERS, brought


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store(tmp_path / "images")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An image that somebody brings."""
    return brought(tmp_path / "source", *LAYERS)
