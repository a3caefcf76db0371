"""An exported image: the same bytes for the same tree, and what podman, containerd and Docker expect to find."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from penstock.images import oci
from penstock.images.library import Image
from penstock.images.sbom import spdx

from .builders import settle


def exported(image: Image, path: Path) -> dict[str, bytes]:
    """Every file of an exported tar."""
    oci.export(image, path, architecture="amd64")
    with tarfile.open(path) as tar:
        return {member.name: read(tar, member) for member in tar if member.isreg()}


def read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    content = tar.extractfile(member)
    assert content is not None
    return content.read()


def manifest_of(files: dict[str, bytes]) -> dict[str, Any]:
    digest = json.loads(files["index.json"])["manifests"][0]["digest"]
    return dict(json.loads(files[f"blobs/{digest.replace(':', '/')}"]))


def blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    return files[f"blobs/{descriptor['digest'].replace(':', '/')}"]


def test_two_exports_are_the_same_bytes(image: Image, tmp_path: Path) -> None:
    first = oci.export(image, tmp_path / "one.tar", architecture="amd64")
    # Another copy of the same tree: other inodes, another order in its directories, written at another time.
    shutil.copytree(image.rootfs, tmp_path / "copy", symlinks=True)
    (tmp_path / "copy/usr/bin/again").unlink()
    os.link(tmp_path / "copy/usr/bin/tool", tmp_path / "copy/usr/bin/again")
    settle(tmp_path / "copy")
    shutil.rmtree(image.rootfs)
    (tmp_path / "copy").rename(image.rootfs)
    second = oci.export(image, tmp_path / "two.tar", architecture="amd64")
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.digest == second.digest


def test_a_changed_tree_is_another_digest(image: Image, tmp_path: Path) -> None:
    before = oci.export(image, tmp_path / "one.tar", architecture="amd64").digest
    (image.rootfs / "tmp").chmod(0o755)
    assert oci.export(image, tmp_path / "two.tar", architecture="amd64").digest != before


def test_every_blob_is_what_its_name_says(image: Image, tmp_path: Path) -> None:
    files = exported(image, tmp_path / "x.tar")
    blobs = {name: content for name, content in files.items() if name.startswith("blobs/")}
    assert len(blobs) == 3
    assert all(name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}" for name, content in blobs.items())
    manifest = manifest_of(files)
    for descriptor in (manifest["config"], *manifest["layers"]):
        assert descriptor["size"] == len(blob(files, descriptor))


def test_the_configuration_says_how_to_start(image: Image, tmp_path: Path) -> None:
    files = exported(image, tmp_path / "x.tar")
    manifest = manifest_of(files)
    config = json.loads(blob(files, manifest["config"]))
    layer = gzip.decompress(blob(files, manifest["layers"][0]))
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    assert (config["os"], config["architecture"], config["created"]) == ("linux", "amd64", "2023-11-14T22:13:20Z")
    assert config["config"]["Env"] == ["PATH=/usr/bin"]
    assert config["config"]["Cmd"] == ["/bin/bash"]
    assert config["config"]["Labels"] == manifest["annotations"] == {"a": "b"}


def test_names_are_where_each_tool_looks_for_them(image: Image, tmp_path: Path) -> None:
    files = exported(image, tmp_path / "x.tar")
    annotations = [entry["annotations"] for entry in json.loads(files["index.json"])["manifests"]]
    assert [one["io.containerd.image.name"] for one in annotations] == list(image.names)
    assert [one["org.opencontainers.image.ref.name"] for one in annotations] == ["26.05", "latest"]
    assert json.loads(files["manifest.json"])[0]["RepoTags"] == list(image.names)
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}


def test_the_layer_tells_nobodys_name(image: Image, tmp_path: Path) -> None:
    files = exported(image, tmp_path / "x.tar")
    layer = gzip.decompress(blob(files, manifest_of(files)["layers"][0]))
    members = tarfile.open(fileobj=io.BytesIO(layer)).getmembers()  # noqa: SIM115
    assert {(member.uname, member.gname) for member in members} == {("", "")}
    assert [member.name for member in members if member.isdir()] == sorted(m.name for m in members if m.isdir())


def test_a_failed_export_leaves_nothing(image: Image, tmp_path: Path) -> None:
    shutil.rmtree(image.rootfs)
    (tmp_path / "out").mkdir()
    (image.rootfs).write_text("no directory")
    with pytest.raises(OSError, match="x"):
        oci.export(image, tmp_path / "out/nowhere/x.tar", architecture="amd64")
    assert list((tmp_path / "out").iterdir()) == []


def test_the_bill_of_materials_lists_every_package(image: Image) -> None:
    bill = spdx(image)
    assert bill["spdxVersion"] == "SPDX-2.3"
    assert [(one["name"], one["versionInfo"]) for one in bill["packages"]] == [
        (package.name, package.version) for package in image.packages
    ]
    assert bill["packages"][0]["externalRefs"][0]["referenceLocator"] == "pkg:deb/debian/bash@5.3-1?distro=forky"
    identities = [one["SPDXID"] for one in bill["packages"]]
    assert {one["relatedSpdxElement"] for one in bill["relationships"]} == set(identities)
