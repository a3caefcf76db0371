"""A file that somebody may read at any moment, and a machine that may die at any other."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from penstock import durable


def test_a_file_is_there_whole_with_its_mode_and_nothing_beside_it(tmp_path: Path) -> None:
    durable.put(tmp_path / "policy", b"first", mode=0o600)
    durable.put(tmp_path / "policy", b"second", mode=0o640)
    assert (tmp_path / "policy").read_bytes() == b"second"
    assert stat.S_IMODE((tmp_path / "policy").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]


@pytest.mark.parametrize("fails", ["fsync", "fchmod"])
def test_what_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """A full disk says so when the file is synced, at the latest."""

    def full(*_: object) -> None:
        raise OSError("no space left")

    durable.put(tmp_path / "policy", b"first")
    monkeypatch.setattr(os, fails, full)
    with pytest.raises(OSError, match="no space left"):
        durable.put(tmp_path / "policy", b"second")
    assert (tmp_path / "policy").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]


def test_the_bytes_are_on_disk_before_the_name_is_and_the_name_before_anybody_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, synced = tmp_path / "policy", []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), target.exists()))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    durable.put(target, b"text")
    assert synced == [(False, False), (True, True)]
