"""Images as strangers bring them: tars, and OCI layouts made of them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from penstock.walls.images.adding import Wish
from penstock.walls.images.record import Record
from penstock.walls.images.store import Store

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
ENV = ["PATH=/opt/bin:/usr/bin", "GREETING=hello world"]


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, *, text: bytes = b"", link: str = "", **more: Any
) -> tuple[tarfile.TarInfo, bytes]:
    """One entry of a tar."""
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, len(text)
    made.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    for field, value in more.items():
        setattr(made, field, value)
    return made, text


def file(name: str, text: str = "", **more: Any) -> tuple[tarfile.TarInfo, bytes]:
    """A regular file."""
    return entry(name, text=text.encode(), **more)


def directory(name: str, **more: Any) -> tuple[tarfile.TarInfo, bytes]:
    """A directory."""
    return entry(name, tarfile.DIRTYPE, **more)


def symlink(name: str, link: str) -> tuple[tarfile.TarInfo, bytes]:
    """A symbolic link."""
    return entry(name, tarfile.SYMTYPE, link=link)


def hardlink(name: str, link: str) -> tuple[tarfile.TarInfo, bytes]:
    """A second name of a file."""
    return entry(name, tarfile.LNKTYPE, link=link)


def tar(*entries: tuple[tarfile.TarInfo, bytes], **more: Any) -> bytes:
    """A tar, as Python writes it: nothing is checked."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT, **more) as out:
        for made, text in entries:
            out.addfile(made, io.BytesIO(text))
    return written.getvalue()


def digest(text: bytes) -> str:
    """Its digest, as OCI writes it."""
    return f"sha256:{hashlib.sha256(text).hexdigest()}"


class Layout:
    """A layout that is being written: blobs first, then what leads to them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "blobs/sha256").mkdir(parents=True)
        (path / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')

    def blob(self, text: bytes, media_type: str = "", **more: Any) -> dict[str, Any]:
        """Add a blob: its descriptor."""
        (self.path / "blobs/sha256" / digest(text)[7:]).write_bytes(text)
        return {"mediaType": media_type, "digest": digest(text), "size": len(text), **more}

    def json(self, value: object, media_type: str = "", **more: Any) -> dict[str, Any]:
        """Add a blob of JSON."""
        return self.blob(json.dumps(value).encode(), media_type, **more)

    def image(
        self,
        *layers: bytes,
        architecture: str = "amd64",
        squeeze: Any = gzip.compress,
        config: object = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Add an image of these tars: the descriptor of its manifest."""
        said = {"Env": ENV, "WorkingDir": "/work", "Entrypoint": ["/run"], "Cmd": ["x"], "User": "1000"}
        settings = self.json({
            "architecture": architecture, "os": "linux", "config": said if config is None else config,
            "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
        })  # fmt: skip
        described = [self.blob(squeeze(layer)) for layer in layers]
        return self.json({"schemaVersion": 2, "config": settings, "layers": described}, MANIFEST, **more)

    def index(self, manifests: Iterable[Mapping[str, Any]]) -> Path:
        """Finish it."""
        (self.path / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [*manifests]}))
        return self.path


def brought(path: Path, *layers: bytes, **more: Any) -> Path:
    """A layout with one image."""
    made = Layout(path)
    return made.index([made.image(*layers, **more)])


def packed(layout: Path) -> Path:
    """A layout as one tar."""
    target = layout.with_suffix(".tar")
    with tarfile.open(target, "w") as out:
        out.add(layout, arcname=".")
    return target


LAYERS = (tar(directory("etc"), file("etc/one", "1"), file("gone")), tar(file("etc/two", "2"), file(".wh.gone")))
"""Of an image with etc/one and etc/two."""
AMD64 = Wish(architecture="amd64")


def texts(store: Store, record: Record) -> dict[str, str]:
    """The files of an image of a store."""
    root = store.files(record)
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}
