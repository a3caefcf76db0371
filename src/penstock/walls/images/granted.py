"""Whether the images that a policy grants are the ones that lie there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from penstock.walls.images.problems import NoImage
from penstock.walls.images.record import RECORD, read
from penstock.walls.images.store import Store
from penstock.walls.policy import DIRECTORY, IMAGES, Image, Policy

NODES = f"{DIRECTORY}/{IMAGES}"
"""Where nodes see the store that lies among their policies."""


def wrong_images(policy: Policy, store: Store) -> Iterator[str]:
    """What a policy says of images that is not so; what nobody knows here may be so on the nodes."""
    for image in policy.images:
        if told := _wrong(image, store):
            yield f"image {image.digest} {image.path}: {told}"


def path_on_nodes(store: Store, files: Path) -> str:
    """How a policy names files of the store."""
    return f"{NODES}/{files.relative_to(store.directory)}"


def _wrong(image: Image, store: Store) -> str:
    inside = image.path.startswith(f"{NODES}/")
    files = store.directory / image.path.removeprefix(f"{NODES}/") if inside else Path(image.path)
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
