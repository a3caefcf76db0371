"""A world for every test."""

from pathlib import Path

import pytest

from .world import World


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> World:
    return World(capsys, monkeypatch, tmp_path)
