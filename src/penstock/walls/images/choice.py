"""The image that a layout has for this machine, and what it says of itself."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from penstock.walls.images.blobs import Descriptor, text
from penstock.walls.images.layouts import INDEX, Layout
from penstock.walls.images.problems import BadImage

_T = TypeVar("_T")
_INDEXES = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
}
_NESTED = 4
_LAYERS = 500
_LARGEST_INDEX = 4 << 20
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}
_NAMES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")


class _Index(msgspec.Struct, frozen=True):
    manifests: tuple[Descriptor, ...]


class _Manifest(msgspec.Struct, frozen=True):
    config: Descriptor
    layers: tuple[Descriptor, ...]


class _Files(msgspec.Struct, frozen=True):
    diff_ids: tuple[str, ...]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How programs of an image want to be started."""

    env: tuple[str, ...] | None = msgspec.field(name="Env", default=None)
    working_dir: str | None = msgspec.field(name="WorkingDir", default=None)
    entrypoint: tuple[str, ...] | None = msgspec.field(name="Entrypoint", default=None)
    command: tuple[str, ...] | None = msgspec.field(name="Cmd", default=None)
    user: str | None = msgspec.field(name="User", default=None)


class _Config(msgspec.Struct, frozen=True, kw_only=True):
    rootfs: _Files
    architecture: str = ""
    config: Settings | None = None


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """An image: its digest, the layers from the lowest on, each with the digest of its tar, and its settings."""

    digest: str
    name: str
    architecture: str
    layers: tuple[tuple[Descriptor, str], ...]
    settings: Settings


def machine() -> str:
    """This machine's architecture, as OCI (that is Go) calls it."""
    found = platform.machine()
    return _ARCHITECTURES.get(found, found)


def choose(layout: Layout, architecture: str, reference: str = "") -> Chosen:
    """The one image that is meant; `BadImage` tells when there are others."""
    with layout.open(INDEX) as file:
        index = _decoded(file.read(_LARGEST_INDEX), _Index, INDEX)
    named = [one for one in index.manifests if not reference or reference in _names(one)]
    fitting = {one.digest: one for one in _flat(layout, named, architecture, _NESTED)}
    if len(fitting) != 1:
        known = sorted({name for one in index.manifests for name in _names(one)})
        told = f" ({', '.join(known)})" if known else ""
        raise BadImage(f"there are {len(fitting)} images for {architecture}{told}; say which one by --reference")
    [one] = fitting.values()
    return _read(layout, one, architecture)


def _names(one: Descriptor) -> list[str]:
    return [one.annotations[key] for key in _NAMES if key in one.annotations]


def _flat(layout: Layout, found: list[Descriptor], architecture: str, depth: int) -> Iterator[Descriptor]:
    """Manifests for an architecture, those of indexes in the index, too."""
    for one in found:
        said = one.platform.get("architecture", architecture), one.platform.get("os", "linux")
        if one.mediaType in _INDEXES:
            if depth == 0:
                raise BadImage("the image has indexes in indexes without end")
            inner = _decoded(text(layout, one), _Index, one.digest)
            yield from _flat(layout, list(inner.manifests), architecture, depth - 1)
        elif said == (architecture, "linux"):
            yield one


def _read(layout: Layout, one: Descriptor, architecture: str) -> Chosen:
    manifest = _decoded(text(layout, one), _Manifest, one.digest)
    config = _decoded(text(layout, manifest.config), _Config, manifest.config.digest)
    if config.architecture and config.architecture != architecture:
        raise BadImage(f"the image is for {config.architecture}, not for {architecture}")
    if len(manifest.layers) != len(config.rootfs.diff_ids) or len(manifest.layers) > _LAYERS:
        raise BadImage(f"the image has {len(manifest.layers)} layers and knows {len(config.rootfs.diff_ids)} of them")
    return Chosen(
        digest=one.digest,
        name=next(iter(_names(one)), ""),
        architecture=architecture,
        layers=tuple(zip(manifest.layers, config.rootfs.diff_ids, strict=True)),
        settings=config.config or Settings(),
    )


def _decoded(found: bytes, kind: type[_T], name: str) -> _T:
    try:
        return msgspec.json.decode(found, type=kind)
    except msgspec.MsgspecError as problem:
        raise BadImage(f"{name} of the image: {problem}") from problem
