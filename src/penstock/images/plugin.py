"""Plugins of Slurm's that are ours: C, compiled by the compiler of the same suite, laid beside Slurm's own.

The compiler runs in a root of its own, made of links to its image's files: it takes no time to make, needs no mounts,
and whatever is written there is a new file, for the image's own are only read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from penstock import __version__
from penstock.images.commands import run
from penstock.images.errors import BuildFailed
from penstock.images.recipe import Plugin, sources
from penstock.images.shelf import Program

STANDARD = ("-std=gnu17", "-fPIC")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wstrict-prototypes")
HARDENING = ("-O2", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong")
LINKING = ("-shared", "-Wl,-z,relro,--as-needed,--version-script=penstock.map")
FLAGS = (*STANDARD, *WARNINGS, *HARDENING, *LINKING)
"""How a plugin is compiled; Containerfile.worker says the same."""
_NEIGHBOUR = "auth_slurm.so"  # every Slurm that we know how to run has it
_BENCH = "spank"


def install(name: str, plugin: Plugin, *, directory: Path, compiler: Path, workshop: Path, root: Path) -> Program:
    """Compile a plugin of a recipe in `directory`, and put it where the Slurm of a new root looks for plugins."""
    place = plugin_directory(root)
    found = sources(directory / plugin.sources)
    made = compile_in(workshop, compiler, found, name)
    shutil.copyfile(made, place / name)
    (place / name).chmod(0o644)
    # As old as its neighbours: a tree tells when its packages were made, never when it was built.
    date = (place / _NEIGHBOUR).stat().st_mtime
    os.utime(place / name, (date, date))
    return Program(
        path=str((place / name).relative_to(root)),
        version=__version__,
        digest=f"sha256:{hashlib.sha256(made.read_bytes()).hexdigest()}",
        sources=f"sha256:{digest(found)}",
    )


def plugin_directory(root: Path) -> Path:
    """Where the Slurm of a tree keeps its plugins: beside one that it cannot do without."""
    places = [path.parent for path in root.glob(f"usr/lib/**/{_NEIGHBOUR}")]
    if len(places) != 1:
        raise BuildFailed(
            f"{root} has {len(places)} directories with {_NEIGHBOUR}, so there is none to put a plugin in"
        )
    return places[0]


def compile_in(workshop: Path, compiler: Path, found: Sequence[Path], name: str) -> Path:
    """Compile sources into a shared object, in a root made of links to the compiler's."""
    run(["cp", "--archive", "--link", f"{compiler}/.", str(workshop)])
    bench = workshop / _BENCH
    bench.mkdir()
    for path in found:
        shutil.copyfile(path, bench / path.name)
    texts = [path.name for path in found if path.suffix == ".c"]
    command = ["gcc", *FLAGS, "-o", name, *texts]
    run(["chroot", str(workshop), "env", f"--chdir=/{_BENCH}", *command])
    return bench / name


def digest(found: Sequence[Path]) -> str:
    """Name the content of sources."""
    whole = hashlib.sha256()
    for path in found:
        text = path.read_bytes()
        whole.update(f"{path.name}\0{len(text)}\0".encode() + text)
    return whole.hexdigest()
