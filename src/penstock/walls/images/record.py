"""What is known of an image in the store: `image.json`, and the variables that the plugin gives its tasks."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path

import msgspec

from penstock import durable
from penstock.walls.images.choice import Settings
from penstock.walls.images.problems import NoImage

RECORD = "image.json"
LONGEST_ENVIRONMENT = 65536
"""Bytes that the plugin reads."""
MOST_VARIABLES = 1024
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Kind(StrEnum):
    """What the files of an image are kept as; also what they are called in its directory."""

    DIRECTORY = "rootfs"
    SQUASHFS = "rootfs.sqsh"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An image. `content` is what `verify` must find again: of the tree, or of the file."""

    digest: str
    name: str
    kind: Kind
    content: str
    bytes: int
    entries: int
    left_out: int
    architecture: str
    added: str
    settings: Settings


def write(record: Record, place: Path) -> None:
    """Write both files; the record last, for an image without one is none."""
    durable.put(environment_of(place / record.kind), environment(record.settings))
    durable.put(place / RECORD, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def read(place: Path) -> Record:
    """What an image is; `NoImage` where there is none."""
    try:
        return msgspec.json.decode((place / RECORD).read_bytes(), type=Record)
    except FileNotFoundError:
        raise NoImage(f"{place} is no image of a store: it has no {RECORD}") from None
    except msgspec.MsgspecError as problem:
        raise NoImage(f"{place / RECORD} cannot be read: {problem}; look at it, and remove {place}") from None


def environment_of(files: Path) -> Path:
    """The file beside an image's files from which the plugin takes variables."""
    return files.with_name(f"{files.name}.environment")


def environment(settings: Settings) -> bytes:
    """NAME=VALUE with a zero byte behind each; of two of a name the later one, as a shell would have it."""
    said = dict(one.partition("=")[::2] for one in settings.env or () if "=" in one)
    kept = {name: value for name, value in said.items() if _VARIABLE.fullmatch(name) and "\0" not in value}
    return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in kept.items())
