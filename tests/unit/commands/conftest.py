"""A terminal for every test."""

from pathlib import Path

import pytest

from .terminal import Terminal


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(tmp_path, capsys, monkeypatch)
