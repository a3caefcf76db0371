"""A squashfs file with just enough in it to run a shell, made by the tools of a suite."""

import shutil
import subprocess
import tempfile
from pathlib import Path

PROGRAMS = ("bash", "cat", "ln", "touch", "true")
LIBRARIES = ("libc.so.6", "libtinfo.so.6")


def squash(rootfs: Path, tools: Path, target: Path, *options: str) -> None:
    """Make the file out of some files of a root file system; `options` are mksquashfs' own."""
    with tempfile.TemporaryDirectory(prefix="penstock-image-") as name:
        tree = Path(name)
        tree.chmod(0o755)
        fill(rootfs, tree)
        words = [str(tools / "usr/bin/mksquashfs"), name, str(target), "-all-root", "-quiet", *options]
        subprocess.run([*loader(tools), *words], check=True, capture_output=True)
    target.chmod(0o644)


def fill(rootfs: Path, tree: Path) -> None:
    """Lay programs and their libraries out."""
    [libraries] = [path.parent for path in rootfs.glob("usr/lib/*/libc.so.6")]
    (tree / "usr/bin").mkdir(parents=True)
    (tree / libraries.relative_to(rootfs)).mkdir(parents=True)
    shutil.copytree(rootfs / "usr/lib64", tree / "usr/lib64", symlinks=True)
    for path in (*(rootfs / "usr/bin" / name for name in PROGRAMS), *libraries.glob("ld-linux*")):
        shutil.copy2(path, tree / path.relative_to(rootfs))
    for name in LIBRARIES:
        shutil.copy2(libraries / name, tree / (libraries / name).relative_to(rootfs))
    for name in ("bin", "lib", "lib64"):
        (tree / name).symlink_to(f"usr/{name}")
    (tree / "squashed-mark").touch()


def loader(tools: Path) -> list[str]:
    """Begin a command of a root file system that is run from outside of it."""
    [linker] = tools.glob("usr/lib/*/ld-linux-*.so.*")
    return [str(linker), "--library-path", str(linker.parent)]
