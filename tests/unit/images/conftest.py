"""A library, and an image with all that trees have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.images.library import Image, Library

from .builders import put, settle


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "images")


@pytest.fixture
def image(library: Library) -> Image:
    """A tree with all that trees have: links to files and directories, names for one file, odd modes and names."""
    made = put(library, names=["localhost/penstock/slurm:26.05", "localhost/penstock/slurm:latest"], labels={"a": "b"})
    root = made.rootfs
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/tool").write_text("#!/bin/sh\n")
    (root / "usr/bin/tool").chmod(0o4755)
    os.link(root / "usr/bin/tool", root / "usr/bin/again")
    (root / "bin").symlink_to("usr/bin")
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    (root / "usr" / ("long" * 40)).write_text("ümlaut")
    settle(root)
    return made
