"""Whether the images that a policy grants are the ones that lie there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from penstock.walls.images.problems import NoImage
from penstock.walls.images.record import RECORD, read
from penstock.walls.images.store import Store
from penstock.walls.policy import DIRECTORY, IMAGES, Image, Policy

NODES = f"{DIRECTORY}/{IMAGES}"
"""Where nodes see the store that lies among their policies."""
_MEASURED = re.compile(r"(?:/[^/]+)*/sha256-([0-9a-f]{64})/[^/]+")


def wrong_images(policy: Policy, store: Store) -> Iterator[str]:
    """What a policy says of images that is not so; what nobody knows here may be so on the nodes."""
    for image in policy.images:
        if told := _wrong(image, store):
            yield f"image {image.digest} {image.path}: {told}"


def unmeasured_images(policy: Policy) -> Iterator[str]:
    """What a policy says of images that nobody can have looked at: they lie in no store."""
    for image in policy.images:
        if not _in_store(image) and not (Path(image.path).parent / RECORD).exists() and not _named(image.path):
            yield f"image {image.digest} {image.path}"


def path_on_nodes(store: Store, files: Path) -> str:
    """How a policy names files of the store."""
    return f"{NODES}/{files.relative_to(store.directory)}"


def _wrong(image: Image, store: Store) -> str:
    inside = _in_store(image)
    files = store.directory / image.path.removeprefix(f"{NODES}/") if inside else Path(image.path)
    if not inside and (named := _named(image.path)) not in {"", image.digest}:
        return f"what lies there is {named}"  # in a store of somebody else's
    if not inside and not (files.parent / RECORD).exists():
        return ""
    try:
        record = read(files.parent)
    except NoImage:
        return "there is no such image; `penstock walls image list` shows all"
    if record.digest != image.digest:
        return f"what lies there is {record.digest}"
    if files.name != record.kind:
        return f"its files are at {record.kind}"
    return ""


def _in_store(image: Image) -> bool:
    return image.path.startswith(f"{NODES}/")


def _named(path: str) -> str:
    """The digest that the directory of an image in a store is called by; nodes look at it, too."""
    found = _MEASURED.fullmatch(path)
    return f"sha256:{found[1]}" if found else ""
