"""hostPath: a path of this machine, checked for what its type promises."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from penstock.engine.podspec import HostPath
from penstock.engine.volumes.sources import VolumeError

_CHECKS: dict[str, tuple[str, Callable[[int], bool]]] = {
    "Directory": ("directory", stat.S_ISDIR),
    "File": ("file", stat.S_ISREG),
    "Socket": ("socket", stat.S_ISSOCK),
    "CharDevice": ("character device", stat.S_ISCHR),
    "BlockDevice": ("block device", stat.S_ISBLK),
}
_MADE = {"DirectoryOrCreate": "Directory", "FileOrCreate": "File"}


def host_path(wanted: HostPath) -> Path:
    """The path, made if its type says so; without a type a missing one becomes a directory, as container engines do."""
    path = Path(wanted.path)
    if not path.is_absolute() or ".." in path.parts:
        raise VolumeError(f'hostPath "{wanted.path}" must be absolute and without ..')
    kind = _MADE.get(wanted.type, wanted.type)
    if kind and kind not in _CHECKS:
        known = ", ".join([*_CHECKS, *_MADE])
        raise VolumeError(f'hostPath {path}: type "{wanted.type}" is unknown; there are {known}')
    if not path.exists():
        _make(path, wanted.type)
    if kind:
        word, holds = _CHECKS[kind]
        if not holds(path.stat().st_mode):
            raise VolumeError(f"hostPath {path}: is not a {word} on this machine")
    return path


def _make(path: Path, kind: str) -> None:
    if kind in {"", "DirectoryOrCreate"}:
        path.mkdir(parents=True, mode=0o755)
    elif kind == "FileOrCreate":
        if not path.parent.is_dir():
            raise VolumeError(f"hostPath {path}: the directory {path.parent} does not exist on this machine")
        path.touch(mode=0o644)
    else:
        raise VolumeError(f"hostPath {path}: does not exist on this machine")
