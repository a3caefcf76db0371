"""Plugins of Slurm's and modules of PAM's that are ours, and programs: C, compiled by the same suite's compiler.

The compiler runs in a root of its own, made of links to its image's files: it takes no time to make, needs no mounts,
and whatever is written there is a new file, for the image's own are only read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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
# It runs in images that have no library; what needs Slurm's own functions is left out by the linker.
ALONE = ("-static", "-ffunction-sections", "-Wl,-z,relro,--gc-sections")
PROGRAM_FLAGS = (*STANDARD, *WARNINGS, *HARDENING, *ALONE)
"""How a program is."""
# sshd knows none of Slurm's functions: a module that needs one could not be loaded. That shows here, not at a login.
LOADED = ("-ffunction-sections", "-fdata-sections", "-shared")
MODULE_FLAGS = (
    *(*STANDARD, *WARNINGS, *HARDENING, *LOADED),
    "-Wl,-z,relro,-z,defs,--gc-sections,--as-needed,--version-script=pam/pam.map",
)
"""How a module of PAM's is."""
MODULE_LIBRARIES = ("-lpam",)
_NEIGHBOUR = "auth_slurm.so"  # every Slurm that we know how to run has it
_MODULES = "pam_unix.so"  # and every PAM this one
_BENCH = "spank"


def install(name: str, plugin: Plugin, *, directory: Path, compiler: Path, workshop: Path, root: Path) -> Program:
    """Compile a plugin of a recipe in `directory`, and put it where the Slurm of a new root looks for plugins.

    A module goes where PAM looks for them, a program where its name says.
    """
    neighbour = _beside(root, _MODULES) / _MODULES if plugin.module else plugin_directory(root) / _NEIGHBOUR
    place = root / name if plugin.main else neighbour.with_name(name)
    found = sources(directory / plugin.sources, plugin.part)
    made = compile_in(workshop, compiler, found, place.name, main=plugin.main, module=plugin.module)
    shutil.copyfile(made, place)
    place.chmod(0o755 if plugin.main else 0o644)
    # As old as its neighbours: a tree tells when its packages were made, never when it was built.
    date = neighbour.stat().st_mtime
    os.utime(place, (date, date))
    return Program(
        path=str(place.relative_to(root)),
        version=__version__,
        digest=f"sha256:{hashlib.sha256(made.read_bytes()).hexdigest()}",
        sources=f"sha256:{digest(found)}",
    )


def plugin_directory(root: Path) -> Path:
    """Where the Slurm of a tree keeps its plugins: beside one that it cannot do without."""
    return _beside(root, _NEIGHBOUR)


def _beside(root: Path, neighbour: str) -> Path:
    places = [path.parent for path in root.glob(f"usr/lib/**/{neighbour}")]
    if len(places) != 1:
        raise BuildFailed(f"{root} has {len(places)} directories with {neighbour}, so there is none to put a plugin in")
    return places[0]


def compile_in(
    workshop: Path, compiler: Path, found: Sequence[Path], name: str, *, main: str = "", module: str = ""
) -> Path:
    """Compile sources into a shared object, or into a program, in a root made of links to the compiler's."""
    run(["cp", "--archive", "--link", f"{compiler}/.", str(workshop)])
    bench, part = workshop / _BENCH, main or module
    (bench / part).mkdir(parents=True)
    texts = [path.name if path.parent.name != part else f"{part}/{path.name}" for path in found]
    for path, text in zip(found, texts, strict=True):
        shutil.copyfile(path, bench / text)
    gcc = ["chroot", str(workshop), "env", f"--chdir=/{_BENCH}", "gcc"]
    gcc += PROGRAM_FLAGS if main else MODULE_FLAGS if module else FLAGS
    objects = {text: f"{text}.o" for text in texts if text.endswith(".c")}
    # A newcomer waits for it: all processors at once.
    with ThreadPoolExecutor(os.cpu_count()) as compilers:
        each = [compilers.submit(run, [*gcc, "-c", text, "-o", made]) for text, made in objects.items()]
    for one in each:
        one.result()
    run([*gcc, "-o", name, *objects.values(), *(MODULE_LIBRARIES if module else ())])
    return bench / name


def digest(found: Sequence[Path]) -> str:
    """Name the content of sources."""
    whole = hashlib.sha256()
    for path in found:
        text = path.read_bytes()
        whole.update(f"{path.name}\0{len(text)}\0".encode() + text)
    return whole.hexdigest()
