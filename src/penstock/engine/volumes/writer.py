"""Files of a volume, replaced all at once while containers read them, in the layout that kubelet made customary.

```
volume/slurm.conf -> ..data/slurm.conf        what people see; never changes
volume/..data     -> ..2026_11_16_08_00_00.x  renamed over the old one: the change
volume/..2026_11_16_08_00_00.x/slurm.conf     the file
```

Programs watch `..data` to learn of changes. A writer that dies at any point leaves the old files or the new ones, and
the next one sweeps up.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from penstock.engine.volumes.contents import File, Files

_DATA = "..data"
_FRESH = "..data_tmp"


def write(volume: Path, files: Files, *, group: int | None = None) -> bool:
    """Make the volume have exactly these files; whether that changed anything.

    With a group (fsGroup) its members may read every file, as kubelet has it.
    """
    wanted = {path: File(file.content, _mode(file.mode, group)) for path, file in files.items()}
    owner = os.getgid() if group is None else group
    current = _current(volume)
    changed = current is None or _written(current, owner) != wanted
    if changed:
        current = _new_directory(volume, wanted, owner, group)
        (volume / _FRESH).unlink(missing_ok=True)
        (volume / _FRESH).symlink_to(current.name)
        (volume / _FRESH).rename(volume / _DATA)
    # Also when nothing changed: whoever wrote last may have died before this.
    _show(volume, {path.split("/")[0] for path in wanted})
    _sweep(volume, current)
    return changed


def _mode(mode: int, group: int | None) -> int:
    return mode & 0o777 if group is None else mode & 0o777 | 0o440


def _current(volume: Path) -> Path | None:
    try:
        current = volume / (volume / _DATA).readlink().name
    except FileNotFoundError:
        return None
    return current if current.is_dir() else None


def _written(directory: Path, owner: int) -> Files | None:
    """The files as they stand; None when something is not as we make it."""
    found: Files = {}
    for path in directory.rglob("*"):
        state = path.lstat()
        if stat.S_ISDIR(state.st_mode):
            continue
        if not stat.S_ISREG(state.st_mode) or state.st_gid != owner:
            return None
        found[path.relative_to(directory).as_posix()] = File(path.read_bytes(), stat.S_IMODE(state.st_mode))
    return found


def _new_directory(volume: Path, wanted: Files, owner: int, group: int | None) -> Path:
    prefix = datetime.now(UTC).strftime("..%Y_%m_%d_%H_%M_%S.")
    directory = Path(tempfile.mkdtemp(prefix=prefix, dir=volume))
    _let_in(directory, owner, group)
    for path, file in wanted.items():
        target = directory / path
        for parent in reversed(target.relative_to(directory).parents[:-1]):
            if not (directory / parent).exists():
                (directory / parent).mkdir()
                _let_in(directory / parent, owner, group)
        _put(target, file, owner)
    return directory


def _put(target: Path, file: File, owner: int) -> None:
    """Write a file that is nobody's to read before it is its group's: containers see it while it is made."""
    with open(target, "xb", opener=lambda path, flags: os.open(path, flags, 0)) as made:
        os.fchown(made.fileno(), -1, owner)
        os.fchmod(made.fileno(), file.mode)
        made.write(file.content)


def _let_in(directory: Path, owner: int, group: int | None) -> None:
    os.chown(directory, -1, owner)
    directory.chmod(0o755 if group is None else 0o2755)


def _show(volume: Path, names: set[str]) -> None:
    """Links for people: new ones appear, stale ones go, the others are not touched."""
    for name in names:
        link, goal = volume / name, f"{_DATA}/{name}"
        if not link.is_symlink() or str(link.readlink()) != goal:
            fresh = volume / "..link_tmp"
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(goal)
            fresh.rename(link)
    for entry in volume.iterdir():
        if not entry.name.startswith("..") and entry.name not in names:
            _discard(entry)


def _sweep(volume: Path, current: Path | None) -> None:
    """Remove what earlier writers left; readers of the directory before have their files open."""
    for entry in volume.iterdir():
        if entry.name.startswith("..") and entry.name != _DATA and entry != current:
            _discard(entry)


def _discard(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()
