"""What is exported can be taken in again, elsewhere; and a stranger's image stays inside of its tree."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import main
from penstock.images import oci
from penstock.images.errors import BadRecipe
from penstock.images.library import Image, Library
from penstock.images.oci_import import take

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="unpacks from within the new root, which needs root")


def test_a_tree_comes_back_as_it_was(image: Image, tmp_path: Path) -> None:
    oci.export(image, tmp_path / "x.tar", architecture="amd64")
    taken = take(Library(tmp_path / "elsewhere"), tmp_path / "x.tar")
    assert (taken.names, taken.env, taken.command) == (image.names, image.env, image.command)
    root = taken.rootfs
    assert (root / "bin").readlink() == Path("usr/bin")
    assert (root / "bin/tool").stat().st_ino == (root / "usr/bin/again").stat().st_ino
    assert stat.S_IMODE((root / "usr/bin/tool").stat().st_mode) == 0o4755
    assert stat.S_IMODE((root / "tmp").stat().st_mode) == 0o1777
    assert oci.export(taken, tmp_path / "y.tar", architecture="amd64").size > 0


def test_taking_it_again_changes_only_its_name(image: Image, tmp_path: Path) -> None:
    oci.export(image, tmp_path / "x.tar", architecture="amd64")
    library = Library(tmp_path / "elsewhere")
    first = take(library, tmp_path / "x.tar")
    again = take(library, tmp_path / "x.tar", name="my/worker:1")
    assert again.rootfs == first.rootfs
    assert library.find("my/worker:1").digest == first.digest


def test_a_later_layer_takes_away(tmp_path: Path) -> None:
    low = layer({"etc/gone": b"1", "etc/kept": b"1", "var/full/a": b"1"})
    high = layer({"etc/.wh.gone": b"", "var/full/.wh..wh..opq": b"", "var/full/b": b"2", "etc/kept": b"2"})
    write_image(tmp_path / "x.tar", [low, high])
    root = take(Library(tmp_path / "images"), tmp_path / "x.tar").rootfs
    found = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert found == {"etc/kept": b"2", "var/full/b": b"2"}


def test_a_layer_cannot_reach_out_of_its_tree(tmp_path: Path) -> None:
    """An image is somebody else's work: neither a path nor a link nor a removal leads out."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("kept")
    low = layer({str(outside).lstrip("/") + "/mine": b"1"}, links={"way": str(outside), "file": f"{outside}/precious"})
    high = layer({"way/.wh.precious": b"", "../../../outside/planted": b"x", "way/planted": b"x", "file": b"x"})
    write_image(tmp_path / "x.tar", [low, high])
    root = take(Library(tmp_path / "images"), tmp_path / "x.tar").rootfs
    assert {path.name for path in outside.iterdir()} == {"precious"}
    assert (root / outside.name / "planted").exists()


def test_a_damaged_layer_is_refused_and_nothing_stays(tmp_path: Path) -> None:
    write_image(tmp_path / "x.tar", [layer({"a": b"1"})], damaged="layer")
    with pytest.raises(BadRecipe, match="the file is damaged"):
        take(Library(tmp_path / "images"), tmp_path / "x.tar")
    assert [path.name for path in (tmp_path / "images").iterdir()] == [".lock"]


def test_a_tar_of_another_kind_is_told(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w"):
        pass
    with pytest.raises(BadRecipe, match="it is no OCI image layout"):
        take(Library(tmp_path / "images"), tmp_path / "x.tar")


@pytest.mark.parametrize("content", [b"", b"no tar at all" * 100, b"\x1f\x8b\x08\0 broken", b"\xfd7zXZ\0 broken"])
def test_what_is_no_tar_is_told(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    assert main(["images", "import", str(tmp_path / "x.tar"), "--directory", str(tmp_path / "images")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"penstock images: {tmp_path}/x.tar is no tar, or a damaged one; ")
    assert said.count("\n") == 1


def test_a_tar_that_ends_too_early_is_told(tmp_path: Path) -> None:
    write_image(tmp_path / "x.tar", [layer({"a": b"1" * 100_000})])
    whole = gzip.compress((tmp_path / "x.tar").read_bytes())
    (tmp_path / "x.tar").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadRecipe, match="is no tar, or a damaged one"):
        take(Library(tmp_path / "images"), tmp_path / "x.tar")


@pytest.mark.parametrize("part", ["manifest", "config"])
def test_a_manifest_that_is_not_the_one_that_was_named_is_refused(tmp_path: Path, part: str) -> None:
    """Layers are checked by what it says, and users and commands come of the configuration."""
    write_image(tmp_path / "x.tar", [layer({"a": b"1"})], damaged=part)
    with pytest.raises(BadRecipe, match="the file is damaged"):
        take(Library(tmp_path / "images"), tmp_path / "x.tar")
    assert [path.name for path in (tmp_path / "images").iterdir()] == [".lock"]


def layer(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    """A layer as a tar."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.uid, member.gid = len(content), os.geteuid(), os.getegid()
            tar.addfile(member, io.BytesIO(content))
    return whole.getvalue()


def write_image(path: Path, layers: list[bytes], *, damaged: str = "") -> None:
    """An image of somebody else; a part of it may not be what its name says."""
    files: dict[str, bytes] = {}

    def add(content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        files[f"blobs/sha256/{digest}"] = content
        return {"mediaType": "x", "digest": f"sha256:{digest}", "size": len(content)}

    described = [add(content) for content in layers]
    config = add(b"{}")
    manifest = add(json.dumps({"config": config, "layers": described}).encode())
    index = {"manifests": [manifest | {"annotations": {"org.opencontainers.image.ref.name": "some/image:1"}}]}
    files["index.json"] = json.dumps(index).encode()
    if damaged:
        part = {"layer": described[0], "config": config, "manifest": manifest}[damaged]
        files[f"blobs/{part['digest'].replace(':', '/')}"] += b" "
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
