"""What somebody brings becomes an image of the store."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.walls.images import blobs, squash
from penstock.walls.images.choice import Chosen, Settings, choose, machine
from penstock.walls.images.content import file_digest, measure
from penstock.walls.images.entries import Limits
from penstock.walls.images.layer import lay
from penstock.walls.images.layouts import is_layout, layout
from penstock.walls.images.packing import pack
from penstock.walls.images.problems import BadImage
from penstock.walls.images.record import LONGEST_ENVIRONMENT, MOST_VARIABLES, Kind, Record, environment, read
from penstock.walls.images.store import Store, now

Telling = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked for: how to call it, which of several, and whether it shall be one file."""

    name: str = ""
    reference: str = ""
    architecture: str = ""
    squashed: bool = False


def add(store: Store, source: Path, wish: Wish, tell: Telling = lambda _: None) -> tuple[Record, bool]:
    """Add an image; whether it was not there before."""
    if not source.exists():
        raise BadImage(f"{source} is not there")
    if wish.squashed:
        squash.program()
    with store.alone(tell):
        if source.is_file() and squash.is_squashfs(source):
            return _add_file(store, source, wish, tell)
        if source.is_dir() and not is_layout(source):
            return _add_directory(store, source, wish, tell)
        return _add_layout(store, source, wish, tell)


def _add_layout(store: Store, source: Path, wish: Wish, tell: Telling) -> tuple[Record, bool]:
    with layout(source) as blobs_of:
        chosen = choose(blobs_of, wish.architecture or machine(), wish.reference)
        _check(chosen.settings)
        if there := _known(store, chosen.digest, wish):
            return there, False
        limits, left_out = Limits(), 0
        with store.aside() as place:
            root = _new_root(place)
            for number, (blob, diff) in enumerate(chosen.layers, 1):
                step = f"layer {number} of {len(chosen.layers)}, {blob.size / 1e6:.0f} MB"
                tell(f"{step}: verifying")
                tar = blobs.unpack(blobs_of, blob, diff, place, limits)
                tell(f"{step}: unpacking")
                left_out += lay(tar, root, limits)
                tar.unlink()
            return store.settle(place, _finish(root, chosen, left_out, wish, tell)), True


def _add_directory(store: Store, source: Path, wish: Wish, tell: Telling) -> tuple[Record, bool]:
    """A directory goes the way of a layer, and so loses what layers lose; its digest is that of what is left."""
    with store.aside() as place:
        root, tar = _new_root(place), place / "layer"
        tell("reading the directory")
        pack(source, tar)
        tell("copying")
        left_out = lay(tar, root, Limits())
        tar.unlink()
        chosen = Chosen(digest=measure(root).digest, name="", architecture=machine(), layers=(), settings=Settings())
        if there := _known(store, chosen.digest, wish):
            return there, False
        return store.settle(place, _finish(root, chosen, left_out, wish, tell)), True


def _add_file(store: Store, source: Path, wish: Wish, tell: Telling) -> tuple[Record, bool]:
    """What is in it stays as it is; the kernel gives nobody anything for its modes where it is mounted."""
    with store.aside() as place:
        copy = place / Kind.SQUASHFS
        tell("copying")
        shutil.copyfile(source, copy)
        if not squash.is_squashfs(copy):
            raise BadImage(f"{source} is not what it was a moment ago: somebody changes it meanwhile")
        copy.chmod(0o644)
        digest = file_digest(copy)
        if there := _known(store, digest, wish):
            return there, False
        record = Record(
            digest=digest, name=wish.name, kind=Kind.SQUASHFS, content=digest, bytes=copy.stat().st_size, entries=0,
            left_out=0, architecture=machine(), added=now(), settings=Settings(),
        )  # fmt: skip
        return store.settle(place, record), True


def _known(store: Store, digest: str, wish: Wish) -> Record | None:
    if not store.place(digest).exists():
        return None
    there = read(store.place(digest))
    return store.rename(there, wish.name) if wish.name else there


def _finish(root: Path, chosen: Chosen, left_out: int, wish: Wish, tell: Telling) -> Record:
    tell("measuring")
    found = measure(root)
    kind, digest = Kind.DIRECTORY, found.digest
    if wish.squashed:
        tell("making one file of it")
        kind = Kind.SQUASHFS
        target = root.parent / kind
        squash.squash(root, target)
        target.chmod(0o644)
        shutil.rmtree(root)
        digest = file_digest(target)
    return Record(
        digest=chosen.digest, name=wish.name or chosen.name, kind=kind, content=digest, bytes=found.bytes,
        entries=found.entries, left_out=left_out, architecture=chosen.architecture, added=now(),
        settings=chosen.settings,
    )  # fmt: skip


def _new_root(place: Path) -> Path:
    root = place / Kind.DIRECTORY
    root.mkdir()
    root.chmod(0o755)
    return root


def _check(settings: Settings) -> None:
    """What the plugin would not read is not stored."""
    text = environment(settings)
    if len(text) > LONGEST_ENVIRONMENT or text.count(b"\0") > MOST_VARIABLES:
        raise BadImage(f"the image has too many variables: {len(text)} bytes; 64 KiB and 1024 of them are the most")
