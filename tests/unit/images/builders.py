"""Small images and trees, on one line each."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from penstock.images import shelf
from penstock.images.library import Image, Library
from penstock.images.shelf import Record

DATE = 1_700_000_000
"""Of every file of a settled tree: 2023-11-14T22:13:20Z."""


def put(library: Library, name: str = "localhost/penstock/slurm:26.05", **fields: Any) -> Image:
    """Put an image of one file into a library."""
    names = tuple(fields.pop("names", (name,)))
    content = fields.pop("content", f"{names} {fields}")
    record = Record(
        **{
            "role": name.rpartition(":")[0].rpartition("/")[2],
            "suite": "forky",
            "key": "",
            "digest": f"sha256:{hashlib.sha256(content.encode()).hexdigest()}",
            "version": "26.05.5",
            "names": names,
            "built": 1_000_000.0,
            "packages": ("bash=5.3-1", "slurmctld=26.05.5-1"),
            "env": ("PATH=/usr/bin",),
            "command": ("/bin/bash",),
            **fields,
        }
    )
    place = library.place(record.digest)
    shelf.rootfs_of(place).mkdir(parents=True)
    (shelf.rootfs_of(place) / "content").write_text(content)
    shelf.write(record, place)
    return library.find(record.digest)


def recipe_directory(place: Path, **recipes: str) -> Path:
    """Write recipes, with the fields that each must have, and one suite."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "suites.toml").write_text('default = "forky"\n[suites.forky]\n[suites.trixie]\n')
    for role, text in recipes.items():
        (place / f"{role}.toml").write_text(f'title = "{role}"\nversion_of = "{role}"\n{text}\n')
    return place


def settle(root: Path) -> None:
    """Give a whole tree one date."""
    for directory, names, files in os.walk(root):
        for name in (*names, *files, "."):
            os.utime(Path(directory, name), (DATE, DATE), follow_symlinks=False)
