"""What is taken out of a layout: the image for this machine, each byte of it as it was said, and its variables."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.walls.images.adding import Wish, add
from penstock.walls.images.blobs import unpack
from penstock.walls.images.choice import choose, machine
from penstock.walls.images.entries import Limits
from penstock.walls.images.layouts import layout
from penstock.walls.images.problems import BadImage, NoMeans
from penstock.walls.images.record import environment_of
from penstock.walls.images.store import Store

from .brought import AMD64, ENV, INDEX, LAYERS, Layout, brought, file, packed, tar, texts


def squeezed(words: list[str]) -> Callable[[bytes], bytes]:
    """Compress by a program."""
    return lambda text: subprocess.run(words, input=text, capture_output=True, check=True).stdout  # noqa: S603


@pytest.mark.parametrize("squeeze", [gzip.compress, bytes, squeezed(["zstd", "-q"])], ids=["gzip", "plain", "zstd"])
def test_layers_may_be_compressed_as_they_like(store: Store, tmp_path: Path, squeeze: Callable[[bytes], bytes]) -> None:
    record, _ = add(store, brought(tmp_path / "source", *LAYERS, squeeze=squeeze), AMD64)
    assert texts(store, record) == {"etc/one": "1", "etc/two": "2"}


def test_without_zstd_such_a_layer_is_refused_with_the_way_to_get_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = brought(tmp_path / "source", *LAYERS, squeeze=squeezed(["zstd", "-q"]))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoMeans, match="apt-get install zstd"):
        add(store, source, AMD64)
    assert store.all() == []


def test_every_byte_of_every_blob_counts(store: Store, source: Path) -> None:
    """One bit anywhere refuses the image, and leaves nothing."""
    for path in (source / "blobs/sha256").iterdir():
        right = path.read_bytes()
        for wrong in (right[:-1] + bytes([right[-1] ^ 1]), right + b"x", right[:-1]):
            path.write_bytes(wrong)
            with pytest.raises(BadImage, match="damaged or was changed"):
                add(store, source, AMD64)
        path.write_bytes(right)
    assert [path.name for path in store.directory.iterdir()] == [".lock"]
    assert add(store, source, AMD64)[1]


def test_a_layer_must_be_what_it_should_be_when_it_is_unpacked(store: Store, tmp_path: Path) -> None:
    made = Layout(tmp_path / "source")
    manifest = made.image(*LAYERS, squeeze=lambda text: gzip.compress(text + bytes(512)))
    with pytest.raises(BadImage, match="when it is unpacked"):
        add(store, made.index([manifest]), AMD64)


def test_a_bomb_is_put_out_while_it_unfolds(tmp_path: Path) -> None:
    """Not when all of it is on disk."""
    source = brought(tmp_path / "source", bytes(64 << 20))
    with layout(source) as opened:
        [(bomb, diff)] = choose(opened, "amd64").layers
        with pytest.raises(BadImage, match="too large"):
            unpack(opened, bomb, diff, tmp_path, Limits(bytes=2 << 20))
    assert (tmp_path / "layer").stat().st_size <= 2 << 20


def test_the_image_for_this_machine_is_taken(store: Store, tmp_path: Path) -> None:
    """Also out of an index in the index, past notes that are no images."""
    made = Layout(tmp_path / "source")
    ours = made.image(tar(file("ours")), platform={"architecture": "amd64", "os": "linux"})
    others = made.image(tar(file("theirs")), architecture="arm64", platform={"architecture": "arm64", "os": "linux"})
    note = made.json({}, platform={"architecture": "unknown", "os": "unknown"})
    source = made.index([made.json({"manifests": [others, ours, note]}, INDEX)])
    assert add(store, source, AMD64)[0].digest == ours["digest"]
    assert add(store, source, Wish(architecture="arm64"))[0].digest == others["digest"]
    with pytest.raises(BadImage, match="0 images for s390x"):
        add(store, source, Wish(architecture="s390x"))
    assert machine()


def test_an_image_for_another_machine_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(BadImage, match="is for arm64, not for amd64"):
        add(store, brought(tmp_path / "source", *LAYERS, architecture="arm64"), AMD64)


def test_of_several_images_one_is_named(store: Store, tmp_path: Path) -> None:
    made = Layout(tmp_path / "source")
    key = "org.opencontainers.image.ref.name"
    source = made.index([made.image(tar(file(name)), annotations={key: name}) for name in ("one", "two")])
    with pytest.raises(BadImage, match=r"2 images for amd64 \(one, two\); say which one by --reference"):
        add(store, source, AMD64)
    record, _ = add(store, source, Wish(architecture="amd64", reference="two"))
    assert (record.name, [*texts(store, record)]) == ("two", ["two"])


@pytest.mark.parametrize("text", ["{}", "nothing", '{"manifests": [{"digest": "md5:1", "size": 1}]}',
                                  '{"manifests": [{"digest": "sha256:../../x", "size": 1}]}',
                                  '{"manifests": [{"digest": "sha256:0", "size": -1}]}'])  # fmt: skip
def test_an_index_that_is_none_is_refused(store: Store, source: Path, text: str) -> None:
    (source / "index.json").write_text(text)
    with pytest.raises(BadImage):
        add(store, source, AMD64)


def test_variables_are_kept_as_the_plugin_reads_them(store: Store, tmp_path: Path) -> None:
    """The later one of a name; none that no shell could have."""
    env = [*ENV, "A=1", "A=2=3", "no-name=x", "B", "EMPTY=", "LINES=a\nb"]
    record, _ = add(store, brought(tmp_path / "source", *LAYERS, config={"Env": env}), AMD64)
    text = environment_of(store.files(record)).read_bytes()
    assert text == "".join(f"{one}\0" for one in [*ENV, "A=2=3", "EMPTY=", "LINES=a\nb"]).encode()


def test_more_variables_than_the_plugin_reads_are_refused(store: Store, tmp_path: Path) -> None:
    for number, env in enumerate(([f"V{i}=" for i in range(1025)], ["V=" + "x" * 65536])):
        with pytest.raises(BadImage, match="too many variables"):
            add(store, brought(tmp_path / str(number), *LAYERS, config={"Env": env}), AMD64)


def test_a_tar_that_is_compressed_as_a_whole_is_told_as_such(store: Store, source: Path) -> None:
    whole = packed(source)
    whole.write_bytes(gzip.compress(whole.read_bytes()))
    with pytest.raises(BadImage, match="gunzip it first"):
        add(store, whole, AMD64)
