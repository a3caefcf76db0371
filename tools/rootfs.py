"""Build the Slurm root file system of a Debian suite, once, into a cache outside the tree.

    python3 tools/rootfs.py forky      prints the directory as its last line

`images/slurm.toml` says what is in it; this program only executes. The name of the directory is a fingerprint of the
recipe and of this program, so a change of either builds anew; a directory with that name is always complete (built
aside, then renamed).
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from archive import source_line
from steps import DEBIAN, ROOT, ToolError, exit_code, run, run_online, step

RECIPE = ROOT / "images" / "slurm.toml"
UNUSED_DAYS = 14  # after these an older build of the same suite goes


def rootfs(suite: str) -> Path:
    """Return the root file system of a suite; build it when this recipe has not been built here yet."""
    recipe = tomllib.loads(RECIPE.read_text())
    if suite not in recipe["suites"]:
        raise ToolError(f"{RECIPE} has no suite {suite!r}, only {', '.join(recipe['suites'])}")
    cache = cache_directory() / "rootfs"
    target = cache / f"{suite}-{fingerprint()}"
    if not target.exists():
        require_means()
        cache.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(cache / f"{suite}.lock"):
            if not target.exists():
                build(suite, recipe, target)
                sweep(cache, suite)
    os.utime(target)
    return target


def cache_directory() -> Path:
    """Find the user's cache; `PENSTOCK_CACHE` moves it as a whole."""
    if own := os.environ.get("PENSTOCK_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def fingerprint() -> str:
    """Hash all that decides what a build makes, beside the archive's content of that day."""
    digest = hashlib.sha256()
    for path in (RECIPE, Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def require_means() -> None:
    """Say what is missing before anything is begun."""
    if os.geteuid() != 0:
        raise ToolError("building a root file system needs root (mounts, owners of files); run it as root")
    if shutil.which("mmdebstrap") is None:
        raise ToolError("mmdebstrap is missing; get it by: python3 tools/prepare.py apt mmdebstrap")


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Hold a lock file; whoever comes second waits and then finds the finished build."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def build(suite: str, recipe: dict[str, Any], target: Path) -> None:
    """Extract the packages aside, finish them, try them, and only then give the directory its name."""
    print(f"Building {target}", flush=True)
    for dead in target.parent.glob(f".{suite}.*"):  # we hold the lock, so whoever began it is gone
        shutil.rmtree(dead)
    aside = Path(tempfile.mkdtemp(prefix=f".{suite}.", dir=target.parent))
    try:
        aside.chmod(0o755)
        with step(f"packages of Debian {suite}"):
            extract(suite, recipe, aside)
        with step("users, links and directories"):
            finish(recipe, aside)
        with step("trying Slurm"):
            version = run(["chroot", str(aside), "/usr/sbin/slurmctld", "-V"]).strip()
        os.utime(aside)  # mmdebstrap leaves it with a date of the archive, and sweep() goes by dates
        aside.rename(target)
    except BaseException:
        shutil.rmtree(aside)
        raise
    print(f"  {version} on Debian {suite}", flush=True)


def extract(suite: str, recipe: dict[str, Any], root: Path) -> None:
    """Unpack the recipe's packages and what they depend on, from the machine's own archive."""
    packages = [name for group in recipe["packages"].values() for name in group]
    options = ['Acquire::Languages "none"', *recipe["suites"][suite]["apt_options"]]
    source = source_line(suite)
    command = [
        *("unshare", "--mount"),  # whatever it mounts is never in the way of removing a half build
        "mmdebstrap",
        "--variant=extract",
        "--mode=root",
        *(f"--aptopt={option}" for option in options),
        f"--include={','.join(packages)}",
        suite,
        str(root),
        *([source] if source else []),  # without, mmdebstrap asks Debian's own archive
    ]
    run_online(command, registry=DEBIAN)


def finish(recipe: dict[str, Any], root: Path) -> None:
    """Do what the packages' scripts would have done, as far as Slurm needs it."""
    for path in recipe["remove"]["paths"]:
        remove(root / path)
    for path, origin in recipe["copies"].items():
        shutil.copyfile(root / origin, root / path)
    for path, text in recipe["texts"].items():
        (root / path).write_text(text)
    for path, destination in recipe["links"].items():
        (root / path).unlink(missing_ok=True)
        (root / path).symlink_to(destination)
    run(["ldconfig", "-r", str(root)])
    make_users(recipe["users"], root)
    for path, wanted in recipe["directories"].items():
        make_directory(root / path, uid=recipe["users"].get(wanted["owner"], 0), mode=wanted.get("mode", 0o755))


def remove(path: Path) -> None:
    """Remove a file or a tree that may not be there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_users(users: dict[str, int], root: Path) -> None:
    """Make the recipe's users by Debian's own means, and make sure that they got their numbers."""
    lines = "".join(f"u {name} {number}\n" for name, number in users.items())
    (root / "usr/lib/sysusers.d/penstock.conf").write_text(lines)
    run(["chroot", str(root), "systemd-sysusers"])
    known = dict(line.split(":")[:3:2] for line in (root / "etc/passwd").read_text().splitlines())
    wrong = [name for name, number in users.items() if known.get(name) != str(number)]
    if wrong:
        raise ToolError(f"these users did not get their numbers in {root}: {', '.join(wrong)}")


def make_directory(path: Path, *, uid: int, mode: int) -> None:
    """Make a directory that belongs to a user of the image and to its group of the same number."""
    path.mkdir(parents=True, exist_ok=True)
    os.chown(path, uid, uid)
    path.chmod(mode)


def sweep(cache: Path, suite: str) -> None:
    """Remove builds of this suite that nobody has asked for in a while."""
    for old in cache.glob(f"{suite}-*"):
        if time.time() - old.stat().st_mtime > UNUSED_DAYS * 86400:
            shutil.rmtree(old)


def main() -> None:
    """Read the command line, build if need be, print the directory."""
    parser = argparse.ArgumentParser(description="Build the Slurm root file system of a Debian suite.")
    parser.add_argument("suite", help="a suite of images/slurm.toml")
    print(rootfs(parser.parse_args().suite))


if __name__ == "__main__":
    sys.exit(exit_code("rootfs", main))
