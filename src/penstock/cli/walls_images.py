"""`penstock walls image`: images that policies can grant, verified and kept by their digest on this node."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.cli.progress import Progress
from penstock.cli.verbs import add_verbs, of_policies
from penstock.engine.layout import Layout
from penstock.walls.images.adding import Wish, add
from penstock.walls.images.granted import path_on_nodes
from penstock.walls.images.problems import ImageInUse, ImageProblem, NoMeans
from penstock.walls.images.record import Record
from penstock.walls.images.store import Store
from penstock.walls.policy import PolicyError
from penstock.walls.reading import read
from penstock.walls.shelf import DEFAULT, Shelf

_EXAMPLES = """\
examples:
  skopeo copy docker://.../train:2 oci-archive:train.tar
  penstock walls image add train.tar --name acme/train:2    verify it, unpack it, keep it by its digest
  penstock walls image add ./rootfs --name tools            a directory, as it is, without owners and setuid
  penstock walls image add train.tar --squash               one squashfs file instead of a directory
  penstock walls image list
  penstock walls image show acme/train:2 -o json            its digest, its variables, how it wants to be started
  penstock walls image verify                               is all of it as it was when it was added?
  penstock walls image remove acme/train:2                  unless a policy grants it or a step runs in it

A policy grants an image by a line that `add` and `show` print: image DIGEST PATH.
"""


def run(argv: Sequence[str]) -> int:
    """Do what is asked; 1 when something is wrong with an image."""
    arguments = _parser().parse_args(argv)
    shelf = Shelf(arguments.directory or Layout.of(arguments.cluster).walls)
    act: Callable[[Shelf, argparse.Namespace], int] = arguments.act
    try:
        return act(shelf, arguments)
    except (ImageProblem, OSError) as problem:
        sys.stderr.write(f"penstock walls image: {problem}\n")
        return 1


def _add(shelf: Shelf, arguments: argparse.Namespace) -> int:
    if os.geteuid() != 0:
        raise NoMeans("images are root's; run it as root")
    wish = Wish(
        name=arguments.name,
        reference=arguments.reference,
        architecture=arguments.architecture,
        squashed=arguments.squash,
    )
    shelf.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    shown = Progress("walls image")
    try:
        record, new = add(shelf.images, Path(arguments.source), wish, shown.step)
    finally:
        shown.end()
    if arguments.output == "json":
        print(json.dumps(_as_json(shelf.images, record) | {"new": new}, indent=2))
        return 0
    print(f"{record.name or record.digest}  {'added' if new else 'was there'}: {_about(record)}")
    print(f"Next: grant it in a policy: {_line(shelf.images, record)}")
    return 0


def _list(shelf: Shelf, arguments: argparse.Namespace) -> int:
    found = shelf.images.all()
    if arguments.output == "json":
        print(json.dumps([_as_json(shelf.images, record) for record in found], indent=2))
        return 0
    if not found:
        print("No images yet; add one by: penstock walls image add SOURCE")
        return 0
    rows = [(record.name or "-", record.digest[7:19], _size(record.bytes), record.added) for record in found]
    for row in [("NAME", "DIGEST", "SIZE", "ADDED"), *rows]:
        print(f"{row[0]:<32}  {row[1]:<12}  {row[2]:>9}  {row[3]}")
    return 0


def _show(shelf: Shelf, arguments: argparse.Namespace) -> int:
    record = shelf.images.find(arguments.image)
    told = _as_json(shelf.images, record)
    if arguments.output == "json":
        print(json.dumps(told, indent=2))
        return 0
    for key, value in told.items():
        print(f"{key:<14}{value if isinstance(value, str | int) else json.dumps(value)}")
    return 0


def _verify(shelf: Shelf, arguments: argparse.Namespace) -> int:
    store = shelf.images
    wanted = [store.find(word) for word in arguments.images] or store.all()
    shown = Progress("walls image")
    found: dict[str, list[str]] = {}
    for number, record in enumerate(wanted):
        shown.step(f"{record.name or record.digest[:19]}", done=number, total=len(wanted))
        found[record.digest] = [*store.problems(record)]
    shown.end()
    if arguments.output == "json":
        print(json.dumps(found, indent=2))
    else:
        for digest, problems in found.items():
            for line in problems or [f"{digest}: is as it was when it was added"]:
                print(line)
    return int(any(found.values()))


def _remove(shelf: Shelf, arguments: argparse.Namespace) -> int:
    record = shelf.images.find(arguments.image)
    if granting := _granting(shelf, record):
        raise ImageInUse(f"{record.digest} is granted by {', '.join(granting)}; take it out of there first")
    shelf.images.remove(record)
    print(f"{record.name or record.digest}  removed: {_size(record.bytes)}")
    return 0


def _granting(shelf: Shelf, record: Record) -> list[str]:
    """The policies that name an image; one that cannot be read grants nothing."""
    found = []
    for name in [*(f"uid-{uid}" for uid in shelf.uids()), DEFAULT]:
        try:
            policy = read(shelf.text(name) or "")
        except PolicyError:
            continue
        if record.digest in {image.digest for image in policy.images}:
            found.append(name)
    return found


def _line(store: Store, record: Record) -> str:
    return f"image {record.digest} {path_on_nodes(store, store.files(record))}"


def _as_json(store: Store, record: Record) -> dict[str, object]:
    settings = record.settings
    return {
        "name": record.name,
        "digest": record.digest,
        "policy": _line(store, record),
        "path": str(store.files(record)),
        "content": record.content,
        "bytes": record.bytes,
        "entries": record.entries,
        "leftOut": record.left_out,
        "architecture": record.architecture,
        "added": record.added,
        "env": list(settings.env or ()),
        "workingDir": settings.working_dir or "",
        "entrypoint": list(settings.entrypoint or ()),
        "command": list(settings.command or ()),
        "user": settings.user or "",
    }


def _about(record: Record) -> str:
    left_out = f", {record.left_out} devices and pipes left out" if record.left_out else ""
    return f"{record.entries} files, {_size(record.bytes)}{left_out}"


def _size(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


def _parser() -> argparse.ArgumentParser:
    parser, verbs = of_policies("penstock walls image", __doc__, _EXAMPLES)
    made = add_verbs(
        verbs,
        ("add", "take an image: an OCI layout (directory or tar), a directory, or a squashfs file", _add),
        ("list", "show the images of this node", _list),
        ("show", "show one of them", _show),
        ("verify", "find what is not as it was when it was added", _verify),
        ("remove", "take an image away that nobody needs", _remove),
    )
    for name in ("show", "remove"):
        made[name].add_argument("image", metavar="NAME|DIGEST")
    made["verify"].add_argument("images", metavar="NAME|DIGEST", nargs="*", help="(default: all)")
    _of_add(made["add"])
    return parser


def _of_add(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="SOURCE")
    command.add_argument("--name", default="", help="how people call it (default: as the image says)")
    command.add_argument("--reference", default="", help="which one, if there are several in a layout")
    command.add_argument("--architecture", default="", help="amd64, arm64, ... (default: this machine's)")
    command.add_argument("--squash", action="store_true", help="keep it as one squashfs file; needs mksquashfs")
