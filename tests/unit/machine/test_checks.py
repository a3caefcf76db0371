"""What a machine must have: asked of the kernel, and got where it can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.machine import checks


def program(directory: Path, script: str) -> str:
    """A directory with a `modprobe` that does this."""
    (directory / "modprobe").write_text(f"#!/bin/sh\n{script}\n")
    (directory / "modprobe").chmod(0o755)
    return str(directory)


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """The list of a kernel that has loaded no overlays yet, as after the start of a Debian."""
    place = tmp_path / "filesystems"
    place.write_text("nodev\tproc\n\text4\n")
    return place


def test_overlays_that_are_a_module_are_loaded(listed: Path, tmp_path: Path) -> None:
    searched = program(tmp_path, f'[ "$*" = overlay ] && printf "nodev\\toverlay\\n" >> {listed}')
    assert checks.has_overlay(listed, searched=searched)


def test_a_kernel_that_has_overlays_is_asked_for_nothing(listed: Path, tmp_path: Path) -> None:
    listed.write_text(listed.read_text() + "nodev\toverlay\n")
    assert checks.has_overlay(listed, searched=program(tmp_path, f"touch {tmp_path}/asked"))
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("script", ["exit 1", "exit 0"])
def test_a_kernel_without_overlays_has_none(listed: Path, tmp_path: Path, script: str) -> None:
    assert not checks.has_overlay(listed, searched=program(tmp_path, script))


def test_where_nothing_loads_modules_there_are_none(listed: Path) -> None:
    assert not checks.has_overlay(listed, searched="/nowhere")
