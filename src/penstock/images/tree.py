"""Make a root file system of packages: extract them, and do what their maintainer scripts would have done.

Running those scripts costs three to ten times as long and needs mounts; a recipe says the few things that matter.
Whatever is written here has a date of the packages, not of today: the same packages make the same tree.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from penstock.images import deb, packages
from penstock.images.commands import run
from penstock.images.errors import BuildFailed
from penstock.images.packages import Package
from penstock.images.recipe import Recipe

_FIRST = "base-files"  # brings /bin -> usr/bin and the like, which every other package unpacks through
_SHADOW = 42  # Debian's group of those who may read passwords
# What packages must not decide, or what differs from build to build.
_NEVER = (
    "etc/machine-id",
    "var/cache/ldconfig/aux-cache",  # inode numbers
    "var/lib/dbus/machine-id",
    "etc/passwd-",
    "etc/group-",
    "etc/shadow-",
    "etc/gshadow-",
    "etc/.pwd.lock",
)


def copy(origin: Path, root: Path) -> None:
    """Begin a tree with another one; blocks are shared where the file system can."""
    run(["cp", "--archive", "--reflink=auto", f"{origin}/.", str(root)])


def extract(files: Mapping[Package, Path], root: Path) -> None:
    """Unpack packages, as many at a time as there are processors, and record them as dpkg would."""
    first = [path for package, path in files.items() if package.name == _FIRST]
    others = [path for package, path in files.items() if package.name != _FIRST]
    for path in first:
        _unpack(path, root)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            # The big ones first, so that no processor is left alone with one at the end.
            for done in [pool.submit(_unpack, path, root) for path in sorted(others, key=_size, reverse=True)]:
                done.result()
        finally:
            pool.shutdown(cancel_futures=True)  # somebody does not want to wait for the rest
    _record([deb.control(path) for path in files.values()], root)


def _unpack(path: Path, root: Path) -> None:
    run(["dpkg-deb", "--extract", str(path), str(root)])


def _size(path: Path) -> int:
    return path.stat().st_size


def _record(controls: Iterable[str], root: Path) -> None:
    known = root / packages.STATUS
    known.parent.mkdir(parents=True, exist_ok=True)
    earlier = known.read_text("utf-8") if known.exists() else ""
    known.write_text(earlier + packages.status(controls), "utf-8")
    listed = root / packages.LIST
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text(packages.write_list(installed(root)), "utf-8")


def installed(root: Path) -> list[Package]:
    """The packages of a tree; none where nobody keeps a record."""
    record = root / packages.STATUS
    return packages.parse_status(record.read_text("utf-8", "replace")) if record.is_file() else []


def size(root: Path) -> int:
    """Bytes of all files of a tree."""
    return sum(path.lstat().st_size for path in _files(root))


def _files(root: Path) -> Iterator[Path]:
    return (Path(directory, name) for directory, _, names in os.walk(root) for name in names)


def finish(recipe: Recipe, root: Path) -> None:
    """Do what the recipe says, in the order of its tables, and try whether it can be run."""
    epoch = _newest(root)
    for path in recipe.remove:
        remove(root / path)
    _furnish(recipe, root)
    run(["ldconfig", "-r", str(root)])
    _make_users(recipe.users, root, epoch)
    for command in (*recipe.says.commands.values(), *recipe.says.check):
        run(["chroot", str(root), *command], env={"SOURCE_DATE_EPOCH": str(epoch)})
    for name, wanted in recipe.says.directories.items():
        _make_directory(root / name, uid=recipe.users.get(wanted.owner, 0), mode=wanted.mode)
    for unwanted in (*(root / path for path in _NEVER), *(root / "dev").iterdir()):  # a command wrote to /dev/null
        remove(unwanted)
    _settle_dates(root, epoch)


def _furnish(recipe: Recipe, root: Path) -> None:
    """Bring files and links to their places."""
    says = recipe.says
    for path, origin in says.moves.items():
        (root / origin).rename(_place(root, path))
    for path, origin in says.copies.items():
        shutil.copyfile(root / origin, _place(root, path))
    for path, text in says.texts.items():
        _place(root, path).write_text(text, "utf-8")
    for path, file in says.files.items():
        shutil.copyfile(recipe.directory / file.source, _place(root, path))
        (root / path).chmod(file.mode)
    for path, destination in says.links.items():
        _place(root, path).symlink_to(destination)


def _place(root: Path, path: str) -> Path:
    """Make room for a file; what has been there may be a link that leads out of the tree."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).unlink(missing_ok=True)
    return root / path


def remove(path: Path) -> None:
    """Remove a file or a tree that may not be there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _make_users(users: Mapping[str, int], root: Path, epoch: int) -> None:
    """Make the packages' and the recipe's users by Debian's own means, and make sure that they got their numbers."""
    lines = "".join(f"u {name} {number}\n" for name, number in users.items())
    _place(root, "usr/lib/sysusers.d/penstock.conf").write_text(lines, "utf-8")
    for command in ("systemd-sysusers", "pwconv", "grpconv"):
        # The date of a password's last change is the only date inside of a file here.
        run(["chroot", str(root), command], env={"SOURCE_DATE_EPOCH": str(epoch)})
    for name in ("shadow", "gshadow"):  # pwconv makes them so that not even root may write
        os.chown(root / "etc" / name, 0, _SHADOW)
        (root / "etc" / name).chmod(0o640)
    known = dict(line.split(":")[:3:2] for line in (root / "etc/passwd").read_text("utf-8").splitlines())
    if wrong := [name for name, number in users.items() if known.get(name) != str(number)]:
        raise BuildFailed(f"these users did not get their numbers in {root}: {', '.join(wrong)}")


def _make_directory(path: Path, *, uid: int, mode: int) -> None:
    path.mkdir(parents=True, exist_ok=True)
    os.chown(path, uid, uid)
    path.chmod(mode)


def _newest(root: Path) -> int:
    """The date of the newest file that a package brought."""
    ours = {root / packages.STATUS, root / packages.LIST}
    return max(int(path.lstat().st_mtime) for path in _files(root) if path not in ours)


def _settle_dates(root: Path, epoch: int) -> None:
    """Leave no date of today: directories have those of who unpacked last, files of ours those of this build."""
    for directory, names, files in os.walk(root):
        os.utime(directory, (epoch, epoch))
        for path in (Path(directory, name) for name in (*names, *files)):
            if path.lstat().st_mtime > epoch:
                os.utime(path, (epoch, epoch), follow_symlinks=False)
