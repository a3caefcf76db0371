"""Take an image that somebody else made: a tar in OCI's image layout, as `podman save --format oci-archive` writes it.

Its author may be a stranger: digests are checked, and `layer` unpacks from within the new root.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import shutil
import sys
import tarfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from penstock.images import shelf, tree
from penstock.images.commands import run
from penstock.images.errors import BadRecipe, MissingMeans
from penstock.images.library import Image, Library, normal
from penstock.images.shelf import Record

_T = TypeVar("_T")
_ZSTD = b"\x28\xb5\x2f\xfd"  # how such a file begins
_DIGEST_LENGTH = 64
_LARGEST = 1 << 26
"""Bytes of a document; those of real images have some thousands."""


class _Descriptor(msgspec.Struct, frozen=True):
    digest: str
    mediaType: str = ""  # noqa: N815 - OCI's spelling
    annotations: dict[str, str] = {}


class _Manifest(msgspec.Struct, frozen=True):
    config: _Descriptor
    layers: tuple[_Descriptor, ...]


class _Index(msgspec.Struct, frozen=True):
    manifests: tuple[_Descriptor, ...]


def take(library: Library, path: Path, *, name: str = "") -> Image:
    """Unpack an image into the library; without a name it keeps those that its tar tells."""
    if os.geteuid() != 0:
        raise MissingMeans("importing an image needs root (files of other owners, chroot); run it as root")
    library.directory.mkdir(parents=True, exist_ok=True)
    with _opened(path) as tar, shelf.alone(library.directory):
        shelf.sweep(library.directory)
        index = _decode(tar, "index.json", _Index)
        if len({manifest.digest for manifest in index.manifests}) != 1:
            raise BadRecipe(f"{path} holds {len(index.manifests)} images; export one at a time")
        chosen = index.manifests[0]
        names = (normal(name),) if name else _names(index, path)
        manifest = _decode(tar, _blob(chosen.digest), _Manifest, digest=chosen.digest)
        told = _decode(tar, _blob(manifest.config.digest), dict[str, Any], digest=manifest.config.digest)
        config = told.get("config") or {}
        place = library.place(chosen.digest)
        if not place.exists():
            with shelf.aside(library.directory) as directory:
                _unpack(tar, manifest, shelf.rootfs_of(directory), directory / "layer")
                shelf.write(_record(names, chosen.digest, config, shelf.rootfs_of(directory)), directory)
                shelf.settle(directory, place)
        else:
            shelf.change(place, names=names, preferred=time.time())
    return library.find(chosen.digest)


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    """A tar that somebody gave us; whatever is wrong with it, here or further in, is told as such."""
    try:
        with tarfile.open(path) as tar:
            yield tar
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as problem:
        # What tarfile says is four lines long, one for each way in which it is no tar.
        told = f"{path} is no tar, or a damaged one; get it again, or write one by: podman save --format oci-archive"
        raise BadRecipe(told) from problem


def _names(index: _Index, path: Path) -> tuple[str, ...]:
    whole = [one.annotations.get("io.containerd.image.name") for one in index.manifests]
    refs = [one.annotations.get("org.opencontainers.image.ref.name") for one in index.manifests]
    named = [name for name in (*whole, *refs) if name and "/" in name]
    if not named:
        raise BadRecipe(
            f"{path} does not tell its image's name; give it one: penstock images import {path} --name NAME"
        )
    return tuple(dict.fromkeys(map(normal, named)))


def _record(names: tuple[str, ...], digest: str, config: dict[str, Any], root: Path) -> Record:
    return Record(
        role=names[0].rpartition(":")[0].rpartition("/")[2],
        suite="",
        key="",
        digest=digest,
        version=(config.get("Labels") or {}).get("org.opencontainers.image.version", ""),
        names=names,
        built=time.time(),
        size=tree.size(root),
        packages=tuple(map(str, tree.installed(root))),
        env=tuple(config.get("Env") or ()),
        entrypoint=tuple(config.get("Entrypoint") or ()),
        command=tuple(config.get("Cmd") or ()),
        user=config.get("User") or "",
        working_dir=config.get("WorkingDir") or "/",
        labels=config.get("Labels") or {},
    )


def _unpack(tar: tarfile.TarFile, manifest: _Manifest, root: Path, scratch: Path) -> None:
    root.mkdir(mode=0o755)
    for layer in manifest.layers:
        with _open(tar, _blob(layer.digest)) as content, scratch.open("wb") as file:
            shutil.copyfileobj(content, file)
        with scratch.open("rb") as file:
            _check(file, layer.digest)
        _decompress(scratch)
        run([sys.executable, "-m", "penstock.images.layer", str(root)], stdin=scratch)
        scratch.unlink()


def _decompress(path: Path) -> None:
    """Undo zstd, which Python 3.11 does not know; it knows the others."""
    with path.open("rb") as file:
        if file.read(len(_ZSTD)) != _ZSTD:
            return
    if shutil.which("zstd") is None:
        raise MissingMeans("the image is compressed by zstd, which is not here; get it by: apt-get install zstd")
    run(["zstd", "--decompress", "--quiet", "--force", str(path), "-o", f"{path}.tar"])
    Path(f"{path}.tar").replace(path)


def _check(content: IO[bytes], digest: str) -> None:
    """Refuse what is not what its name says; then it can be read from its beginning."""
    content.seek(0)
    found = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]  # any file that can be read
    if digest != f"sha256:{found}":
        raise BadRecipe(f"a part should be {digest} and is sha256:{found}: the file is damaged; get it again")
    content.seek(0)


def _blob(digest: str) -> str:
    kind, _, number = digest.partition(":")
    if kind != "sha256" or len(number) != _DIGEST_LENGTH or not number.isalnum():
        raise BadRecipe(f"{digest!r} is no digest that we know; only sha256 is")
    return f"blobs/{kind}/{number}"


def _open(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    for spelling in (name, f"./{name}"):
        try:
            content = tar.extractfile(spelling)
        except KeyError:
            continue
        if content is not None:
            return content
    raise BadRecipe(
        f"{tar.name!r} has no {name}: it is no OCI image layout; write one by: podman save --format oci-archive"
    )


def _decode(tar: tarfile.TarFile, name: str, kind: type[_T], *, digest: str = "") -> _T:
    """Read a document; one that has a digest must be the one that was meant."""
    content = io.BytesIO(_open(tar, name).read(_LARGEST))
    if digest:
        _check(content, digest)
    try:
        return msgspec.json.decode(content.read(), type=kind)
    except msgspec.MsgspecError as problem:
        raise BadRecipe(f"{name} of {tar.name!r}: {problem}") from problem
