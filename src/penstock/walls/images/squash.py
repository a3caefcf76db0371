"""A tree as one squashfs file: nobody can change a part of it, and one digest says all."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from penstock.walls.images.problems import NoMeans

_MAGIC = b"hsqs"


def program() -> str:
    """The program that makes them."""
    found = shutil.which("mksquashfs")
    if found is None:
        raise NoMeans(
            "mksquashfs is not here; get it by: apt-get install squashfs-tools, or keep the image as a directory"
        )
    return found


def squash(root: Path, target: Path) -> None:
    """Write the tree at `root` into a new file; the same tree gives the same bytes."""
    # Each step unpacks its programs anew: of zstd they start in half the time that gzip takes.
    options = ["-all-root", "-no-xattrs", "-no-progress", "-quiet", "-mkfs-time", "0", "-comp", "zstd"]
    ended = subprocess.run(  # noqa: S603 - a list of words
        [program(), str(root), str(target), *options],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if ended.returncode:
        raise NoMeans(f"mksquashfs failed: {ended.stderr.strip()[-300:]}")


def is_squashfs(path: Path) -> bool:
    """Whether a file begins as they do."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC
