"""What the tasks of one user get."""

from __future__ import annotations

from enum import StrEnum

import msgspec

DIRECTORY = "/etc/penstock/walls"
"""Where nodes have them."""
IMAGES = "images"
"""The directory of images among them (`walls/images`)."""
HEAD = "penstock-walls 1"
"""The first line of every file: a plugin that does not know the number refuses the file."""
LARGEST = 65536
"""Bytes of a file."""


class PolicyError(ValueError):
    """A policy that says something it cannot say; names the line, where there is one, and what would be right."""


class UserClass(StrEnum):
    """Who somebody is to a node."""

    TENANT = "tenant"
    USER = "user"
    ADMIN = "admin"


class Image(msgspec.Struct, frozen=True):
    """An image that may be used: a directory, or a squashfs file."""

    digest: str
    path: str


class Mount(msgspec.Struct, frozen=True):
    """A path of the node, and where it is shown."""

    source: str
    target: str
    writable: bool = False


class Range(msgspec.Struct, frozen=True):
    """Uids whose class is known before they have a file."""

    first: int
    last: int
    user_class: UserClass


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """One file. What is not said is None, or empty; the plugin has the defaults."""

    user_class: UserClass
    tenant: str | None = None
    images: tuple[Image, ...] = ()
    mounts: tuple[Mount, ...] = ()
    output: str | None = None
    workdir: str | None = None
    tmp: int | None = None
    shm: int | None = None
    net: str | None = None
    devices: tuple[str, ...] = ()
    limits: tuple[tuple[str, int], ...] = ()
    environment: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    root: str | None = None
    keeps: tuple[str, ...] = ()
    device_set: str | None = None
    containers: bool | None = None
    save: bool | None = None
