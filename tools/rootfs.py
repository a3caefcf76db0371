"""The Slurm root file system of a Debian suite, for the tests: `penstock images build` into a cache outside the tree.

    python3 tools/rootfs.py forky [ROLE]      prints the directory as its last line

`images/*.toml` say what is in it; `penstock.images` builds it, once.
"""

import argparse
import os
import sys
from pathlib import Path

from steps import ToolError, exit_code

UNUSED_DAYS = 14  # after these an older build of the control plane goes


def rootfs(suite: str, role: str = "slurm") -> Path:
    """Return the root file system of a suite; build it when its recipe has not been built here yet."""
    # Here, for whoever only asks for the cache may run without Penstock's own packages.
    from penstock.images.build import Progress, build  # noqa: PLC0415
    from penstock.images.errors import ImageError  # noqa: PLC0415
    from penstock.images.library import Library  # noqa: PLC0415

    def tell(progress: Progress) -> None:
        print(f"  {progress.role}: {progress.step}", flush=True)

    try:
        return build(Library(images_directory()), [role], suite, progress=tell)[0].rootfs
    except ImageError as problem:
        raise ToolError(str(problem)) from problem


def images_directory() -> Path:
    """Where images for tests are kept."""
    return cache_directory() / "images"


def cache_directory() -> Path:
    """Find the user's cache; `PENSTOCK_CACHE` moves it as a whole."""
    if own := os.environ.get("PENSTOCK_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def main() -> None:
    """Read the command line, build if need be, print the directory."""
    parser = argparse.ArgumentParser(description="Build the root file system of a Debian suite for tests.")
    parser.add_argument("suite", help="a suite of images/suites.toml")
    parser.add_argument("role", nargs="?", default="slurm", help="a recipe of images/ (default: %(default)s)")
    arguments = parser.parse_args()
    print(rootfs(arguments.suite, arguments.role))


if __name__ == "__main__":
    sys.exit(exit_code("rootfs", main))
