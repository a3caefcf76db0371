"""Unpack one layer of somebody else's image onto the layers below it: `python -m penstock.images.layer ROOT < LAYER`.

A program of its own, because it locks itself into the new root first: a link of an earlier layer that leads to /etc
then leads to the image's own /etc, whatever the layer's author had in mind.
"""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
from pathlib import Path, PurePosixPath

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"


def unpack(tar: tarfile.TarFile, root: Path) -> None:
    """Take away what the layer says is gone, then lay its files over what is there."""
    members = tar.getmembers()
    for member in members:
        name = PurePosixPath(member.name).name
        if name == _OPAQUE:
            for path in _inside(root, PurePosixPath(member.name).parent).glob("*"):
                _remove(path)
        elif name.startswith(_WHITEOUT):
            _remove(_inside(root, PurePosixPath(member.name).with_name(name.removeprefix(_WHITEOUT))))
    for member in members:
        # Devices are the engine's affair.
        if not PurePosixPath(member.name).name.startswith(_WHITEOUT) and not member.ischr() and not member.isblk():
            _lay(tar, member, root)


def _lay(tar: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    target = _inside(root, PurePosixPath(member.name))
    member.name = str(target.relative_to(root))
    if not (member.isdir() and target.is_dir()):
        _remove(target)  # tar would write through a link that is in its way
    tar.extract(member, root, numeric_owner=True)


def _inside(root: Path, path: PurePosixPath) -> Path:
    return root.joinpath(*(part for part in path.parts if part not in {"/", "..", "."}))


def _remove(path: Path) -> None:
    if path == path.parent:
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def main() -> None:
    """Lock this process into the directory that it is told, and unpack what comes in."""
    tar = tarfile.open(fileobj=sys.stdin.buffer, mode="r:*")  # noqa: SIM115 - open until the end; loads what it needs
    tar.extraction_filter = staticmethod(lambda member, _: member)
    os.chroot(sys.argv[1])
    os.chdir("/")
    unpack(tar, Path("/"))


if __name__ == "__main__":
    main()
