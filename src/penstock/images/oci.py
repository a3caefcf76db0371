"""An image as other people's tools take it: one tar in OCI's image layout (podman, containerd, Docker, buildah).

The same tree gives the same bytes: entries are sorted, owners are numbers, dates are those of the tree, and nothing
tells who exported it or when. So a digest that somebody wrote down can be checked by anybody who builds the image anew.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import msgspec

from penstock.images.library import Image

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
INDEX = "application/vnd.oci.image.index.v1+json"
# Debian's names of machines, as OCI (that is Go) calls them.
_ARCHITECTURES = {"amd64": "amd64", "arm64": "arm64", "armhf": "arm", "i386": "386", "ppc64el": "ppc64le"}
_LEVEL = 6
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What was written: `digest` is the image's own, as a registry would show it."""

    path: Path
    digest: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blob:
    media_type: str
    digest: str
    size: int

    @property
    def path(self) -> str:
        return f"blobs/{self.digest.replace(':', '/')}"

    def descriptor(self, **more: Any) -> dict[str, Any]:
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.size, **more}


def export(image: Image, path: Path, *, architecture: str) -> Export:
    """Write an image as one tar; the file appears when it is complete."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as work:
        layer = Path(work, "layer")
        blob, diff_id, newest = _write_layer(image.rootfs, layer)
        config = _json(_config(image, diff_id, newest, architecture))
        manifest = _json(_manifest(_blob(CONFIG, config), blob, image))
        whole = Path(work, "whole")
        _write_whole(whole, image, {blob: layer}, {CONFIG: config, MANIFEST: manifest})
        whole.replace(path)
    return Export(path=path, digest=_blob(MANIFEST, manifest).digest, size=path.stat().st_size)


def _write_layer(root: Path, path: Path) -> tuple[_Blob, str, int]:
    """Write the tree as one compressed layer; tell its blob, the digest of its tar, and the newest date in it."""
    newest = 0
    with path.open("wb") as file:
        squeezed = _Squeezed(file)
        with tarfile.open(fileobj=squeezed, mode="w|", format=tarfile.PAX_FORMAT, bufsize=_CHUNK) as tar:
            for entry in _entries(root):
                member = tar.gettarinfo(entry, arcname=str(entry.relative_to(root)))
                member.uname = member.gname = ""
                member.mtime = int(member.mtime)
                newest = max(newest, member.mtime)
                _add(tar, member, entry)
        squeezed.close()
    blob = _Blob(media_type=LAYER, digest=f"sha256:{squeezed.outer.hexdigest()}", size=squeezed.size)
    return blob, f"sha256:{squeezed.inner.hexdigest()}", newest


def _entries(root: Path) -> Iterator[Path]:
    """Everything below a directory, sorted, directories before what is in them."""
    for directory, names, files in os.walk(root):
        names.sort()
        # os.walk calls a link to a directory a directory, and does not follow it.
        links = [name for name in names if Path(directory, name).is_symlink()]
        if Path(directory) != root:
            yield Path(directory)
        yield from (Path(directory, name) for name in sorted([*files, *links]))


def _add(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if member.isreg():
        with path.open("rb") as content:
            tar.addfile(member, content)
    else:
        tar.addfile(member)


class _Squeezed(io.RawIOBase):
    """A gzip stream without name and date, which knows the digests of what went in and of what came out."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.size = file, 0
        self._zlib = zlib.compressobj(_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
        self.inner, self.outer = hashlib.sha256(), hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self.inner.update(piece)
        self._emit(self._zlib.compress(piece))
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._emit(self._zlib.flush())
        super().close()

    def _emit(self, piece: bytes) -> None:
        self.outer.update(piece)
        self.size += self._file.write(piece)


def _config(image: Image, diff_id: str, newest: int, architecture: str) -> dict[str, Any]:
    created = datetime.fromtimestamp(newest, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "created": created,
        "architecture": _ARCHITECTURES.get(architecture, architecture),
        "os": "linux",
        "config": {
            "User": image.user,
            "Env": list(image.env),
            "Entrypoint": list(image.entrypoint),
            "Cmd": list(image.command),
            "WorkingDir": image.working_dir,
            "Labels": dict(image.labels),
        },
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        "history": [{"created": created, "created_by": f"penstock images build {image.role} --suite {image.suite}"}],
    }


def _manifest(config: _Blob, layer: _Blob, image: Image) -> dict[str, Any]:
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.descriptor(),
        "layers": [layer.descriptor()],
        "annotations": dict(image.labels),
    }


def _write_whole(path: Path, image: Image, files: Mapping[_Blob, Path], texts: Mapping[str, bytes]) -> None:
    """Put the blobs and the files that lead to them into one tar."""
    blobs = {media_type: _blob(media_type, text) for media_type, text in texts.items()}
    # containerd and Docker read the whole name, others only the tag.
    names = [
        {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
        for name in image.names
    ]
    index = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [blobs[MANIFEST].descriptor(annotations=annotations) for annotations in names],
    }
    docker = {"Config": blobs[CONFIG].path, "RepoTags": list(image.names), "Layers": [blob.path for blob in files]}
    small = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json(index),
        "manifest.json": _json([docker]),  # `docker load` before version 25
        **{blobs[media_type].path: text for media_type, text in texts.items()},
    }
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for directory in ("blobs", "blobs/sha256"):
            tar.addfile(_member(directory, kind=tarfile.DIRTYPE, mode=0o755))
        for name, text in sorted(small.items()):
            tar.addfile(_member(name, size=len(text)), io.BytesIO(text))
        for blob, file in files.items():
            with file.open("rb") as content:
                tar.addfile(_member(blob.path, size=blob.size), content)


def _member(name: str, *, size: int = 0, kind: bytes = tarfile.REGTYPE, mode: int = 0o644) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.type, member.mode = size, kind, mode
    return member


def _blob(media_type: str, text: bytes) -> _Blob:
    return _Blob(media_type=media_type, digest=f"sha256:{hashlib.sha256(text).hexdigest()}", size=len(text))


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
