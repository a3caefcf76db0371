"""`penstock images`: build what pods run, see what there is, hand it to others.

Builds need root and a Debian machine; nothing else is needed, neither a registry nor a container engine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from penstock.images.build import Progress, build
from penstock.images.commands import run as command_output
from penstock.images.errors import ImageError, MissingImage
from penstock.images.library import Image, Library
from penstock.images.packages import parse_list, write_list
from penstock.images.recipe import book
from penstock.machine.places import images_directory

_EXAMPLES = """\
examples:
  penstock images build                            all images, of Debian's newest Slurm
  penstock images build slurm worker --suite trixie
  penstock images list
  penstock images list --packages worker           what is in it, with versions
  penstock images build --packages packages.txt    exactly these versions
  penstock images export slurm --to slurm.tar      for podman, containerd, Docker
  penstock images import mine.tar --name my/worker:1
  penstock images prune --days 14                  what was superseded, and built that long ago
"""
_BAR = 24  # characters


def run(argv: Sequence[str]) -> int:
    """Run one of the commands about images."""
    arguments = _parser().parse_args(argv)
    library = Library(Path(arguments.directory or images_directory()))
    act: Callable[[Library, argparse.Namespace], int] = arguments.act
    try:
        return act(library, arguments)
    except ImageError as problem:
        sys.stderr.write(f"penstock images: {problem}\n")
        return 1


def _build(library: Library, arguments: argparse.Namespace) -> int:
    pins = parse_list(Path(arguments.packages).read_text("utf-8")) if arguments.packages else {}
    shown = _Shown()
    before = {image.digest for image in library.all()}
    try:
        images = build(
            library, arguments.roles, arguments.suite, progress=shown.tell, pins=pins, refresh=arguments.refresh
        )
    finally:
        shown.end()
    for image in images:
        word = "was there" if image.digest in before else "built"
        sys.stdout.write(f"{image.name}  {word}: {_about(image)}\n")
    sys.stdout.write(f"Next: penstock images list, or penstock images export {images[-1].role} --to FILE.tar\n")
    return 0


def _about(image: Image) -> str:
    return f"version {image.version}, {len(image.packages)} packages, {_size(image.size)}"


class _Shown:
    """Progress as a bar that stays in its line, or as lines when nobody watches."""

    def __init__(self) -> None:
        self._started, self._alive = time.monotonic(), sys.stderr.isatty()

    def tell(self, progress: Progress) -> None:
        what = f"{progress.role}: {progress.step}"
        seconds = f"{time.monotonic() - self._started:.0f} s"
        if not self._alive:
            sys.stderr.write(f"[{progress.done + 1}/{progress.total}] {what} ({seconds})\n")
            return
        filled = _BAR * progress.done // progress.total
        sys.stderr.write(f"\r\033[K[{'#' * filled}{'.' * (_BAR - filled)}] {seconds:>5}  {what}")
        sys.stderr.flush()

    def end(self) -> None:
        if self._alive:
            sys.stderr.write("\r\033[K")


def _list(library: Library, arguments: argparse.Namespace) -> int:
    if arguments.packages:
        image = _one(library, arguments.packages, arguments.suite)
        sys.stdout.write(_bill(image) if arguments.output == "json" else write_list(image.packages))
    elif arguments.output == "json":
        sys.stdout.write(json.dumps([_as_json(image) for image in library.all()], indent=2) + "\n")
    else:
        sys.stdout.write(_table(library.all()) or "No images yet; build them by: penstock images build\n")
    return 0


def _one(library: Library, word: str, suite: str) -> Image:
    """The image that is meant; a bare role means what a bare build makes of it, if that is there."""
    if "/" in word:
        return library.find(word)
    with suppress(MissingImage):
        return library.of_role(word, suite or book().default_suite)
    return library.of_role(word, suite)


def _bill(image: Image) -> str:
    from penstock.images.sbom import spdx  # noqa: PLC0415 - only who asks for it pays for it

    return json.dumps(spdx(image), indent=2) + "\n"


def _as_json(image: Image) -> dict[str, object]:
    return {
        "names": list(image.names),
        "digest": image.digest,
        "version": image.version,
        "suite": image.suite,
        "packages": len(image.packages),
        "size": image.size,
        "built": image.built,
        "rootfs": str(image.rootfs),
    }


def _table(images: Iterable[Image]) -> str:
    """Every image under the first name that it answers to; superseded ones are told as such."""
    taken: set[str] = set()
    rows = []
    for image in images:
        name = next((name for name in image.names if name not in taken), "(superseded)")
        taken.update(image.names)
        age = _age(time.time() - image.built)
        rows.append((name, image.version, image.suite, str(len(image.packages)), _size(image.size), age))
    if not rows:
        return ""
    heading = ("NAME", "VERSION", "SUITE", "PACKAGES", "SIZE", "AGE")
    widths = [max(len(row[column]) for row in (heading, *rows)) for column in range(len(heading))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (heading, *rows))
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _size(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


def _age(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"


def _export(library: Library, arguments: argparse.Namespace) -> int:
    from penstock.images import oci  # noqa: PLC0415 - only who exports pays for it

    image = _one(library, arguments.role, arguments.suite)
    architecture = command_output(["dpkg", "--print-architecture"]).strip()
    written = oci.export(image, Path(arguments.to), architecture=architecture)
    sys.stdout.write(
        f"{written.path}  {image.name}, {_size(written.size)}, {written.digest}\n"
        f"Next: podman load -i {written.path}, or ctr -n k8s.io images import {written.path}\n"
    )
    return 0


def _import(library: Library, arguments: argparse.Namespace) -> int:
    from penstock.images.oci_import import take  # noqa: PLC0415 - only who imports pays for it

    image = take(library, Path(arguments.file), name=arguments.name)
    sys.stdout.write(f"{image.name}  imported: {len(image.packages)} packages, {_size(image.size)}\n")
    return 0


def _prune(library: Library, arguments: argparse.Namespace) -> int:
    gone = library.prune(unused_days=arguments.days)
    for image in gone:
        sys.stdout.write(f"{image.name}  removed: {image.digest[7:19]}, {_size(image.size)}\n")
    sys.stdout.write(f"{len(gone)} superseded images removed, {_size(sum(image.size for image in gone))}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock images",
        description="Build, list and export the images that pods run.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    shared = argparse.ArgumentParser(add_help=False)
    where = "where images are (default: $PENSTOCK_IMAGES, or /var/lib/penstock/images)"
    shared.add_argument("-d", "--directory", help=where)
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    def verb(name: str, what: str) -> argparse.ArgumentParser:
        shown = "".join(f"{line}\n" for line in _EXAMPLES.splitlines() if line.startswith(f"  penstock images {name}"))
        return verbs.add_parser(
            name, parents=[shared], help=what, description=f"{what[0].upper()}{what[1:]}.",
            epilog=f"examples:\n{shown}", formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip

    _add_build(verb("build", "build the images that are not there yet"))
    _add_list(verb("list", "show the images of this machine"))
    _add_export(verb("export", "write an image as an OCI tar"))
    _add_import(verb("import", "take an image from an OCI tar"))
    _add_prune(verb("prune", "remove images that newer ones have superseded"))
    return parser


def _add_build(parser: argparse.ArgumentParser) -> None:
    known = book()
    roles = ", ".join(known.roles)
    parser.add_argument("roles", nargs="*", metavar="ROLE", help=f"{roles} (default: all)")
    parser.add_argument("--suite", default="", help=f"{', '.join(known.suites)} (default: {known.default_suite})")
    parser.add_argument("--packages", metavar="FILE", help="build exactly these versions (lines of name=version)")
    parser.add_argument("--refresh", action="store_true", help="ask the archive for newer packages")
    parser.set_defaults(act=_build)


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--packages", metavar="ROLE", help="the packages of one image (json: SPDX)")
    parser.add_argument("--suite", default="", help="of this suite (default: as for build)")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="(default: %(default)s)")
    parser.set_defaults(act=_list)


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("role", metavar="ROLE", help="a role, or the whole name of an image")
    parser.add_argument("--to", metavar="FILE.tar", required=True, help="the file to write")
    parser.add_argument("--suite", default="", help="of this suite (default: as for build)")
    parser.set_defaults(act=_export)


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a tar in OCI's image layout")
    parser.add_argument("--name", default="", help="how pods call it (default: as the tar tells)")
    parser.set_defaults(act=_import)


def _add_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=float, default=0, help="only those built that long ago (default: %(default)s)")
    parser.set_defaults(act=_prune)
