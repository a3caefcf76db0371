"""What is known of a container on disk: a file that a power cut left half written is as good as none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock.engine.record import Bundle
from penstock.engine.runtime import Runtime

CONFIG = {"linux": {"cgroupsPath": "/penstock/c/uid/main"}}
TORN = [b"", b'{"container_id": "a", "bo', b"\0" * 64, b"\xff\xfe"]


def torn(directory: Path, text: bytes, *names: str) -> Bundle:
    """The directory of a container of which some files are half written."""
    bundle = Bundle(directory / "bundle", "a")
    bundle.prepare(CONFIG)
    assert bundle.read() is not None
    for name in names:
        (bundle.path / name).write_bytes(text)
    return bundle


@pytest.mark.parametrize("text", TORN, ids=["empty", "half", "zeros", "noise"])
def test_a_torn_record_is_no_record(tmp_path: Path, text: bytes) -> None:
    bundle = torn(tmp_path, text, "container.json", "conmon.pid", "exit/a")
    assert (bundle.read(), bundle.was_started(), bundle.monitor(), bundle.exit_code()) == (None, False, None, None)


@pytest.mark.parametrize("text", TORN, ids=["empty", "half", "zeros", "noise"])
def test_a_torn_configuration_asks_for_no_group(tmp_path: Path, text: bytes) -> None:
    assert torn(tmp_path, text, "config.json").group() == ""


@pytest.mark.parametrize("text", TORN, ids=["empty", "half", "zeros", "noise"])
def test_a_container_with_torn_files_can_be_removed_and_never_ran(tmp_path: Path, text: bytes) -> None:
    """By `penstock down` as by the next engine."""
    bundle = torn(tmp_path, text, "container.json", "config.json")
    assert asyncio.run(Runtime(root=tmp_path / "runc").adopt("a", bundle.path)) is None
