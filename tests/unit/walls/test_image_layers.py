"""A stranger's tar laid onto a tree: as OCI means it, and never a byte outside of the tree."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.walls.images.entries import Limits
from penstock.walls.images.layer import lay
from penstock.walls.images.problems import BadImage
from penstock.walls.images.tree import DEEPEST

from .brought import directory, entry, file, hardlink, symlink, tar


def laid(place: Path, *layers: bytes, limits: Limits | None = None) -> Path:
    """Lay tars onto a new tree."""
    root = place / "root"
    root.mkdir(parents=True)
    for number, layer in enumerate(layers):
        (place / f"{number}.tar").write_bytes(layer)
        lay(place / f"{number}.tar", root, limits or Limits())
    return root


def names(root: Path) -> list[str]:
    """All that is in a tree."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_a_later_layer_replaces_files_of_an_earlier_one(tmp_path: Path) -> None:
    root = laid(tmp_path, tar(file("a", "old"), file("b")), tar(file("./a", "new")))
    assert ((root / "a").read_text(), names(root)) == ("new", ["a", "b"])


def test_a_whiteout_takes_away_what_layers_below_have_and_not_what_its_own_brings(tmp_path: Path) -> None:
    below = tar(directory("d"), file("d/old"), file("d/other"), file("gone"))
    root = laid(tmp_path, below, tar(file("d/new"), file("d/.wh.old"), file(".wh.gone"), file("gone", "again")))
    assert names(root) == ["d", "d/new", "d/other", "gone"]
    assert (root / "gone").read_text() == "again"


def test_an_opaque_directory_hides_all_below_it_wherever_it_says_so(tmp_path: Path) -> None:
    below = tar(file("d/old"), file("d/deep/old"))
    assert names(laid(tmp_path / "1", below, tar(file("d/new"), file("d/.wh..wh..opq")))) == ["d", "d/new"]
    assert names(laid(tmp_path / "2", below, tar(file("d/.wh..wh..opq"), file("d/new")))) == ["d", "d/new"]


def test_a_directory_in_place_of_a_file_may_say_that_it_hides_it(tmp_path: Path) -> None:
    root = laid(tmp_path, tar(file("d")), tar(directory("d"), file("d/.wh..wh..opq"), file("d/new")))
    assert names(root) == ["d", "d/new"]


def test_a_file_takes_the_place_of_a_directory_and_of_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    root = laid(tmp_path / "x", tar(file("d/in"), symlink("l", str(outside))), tar(file("d", "d"), file("l", "l")))
    assert ((root / "d").read_text(), (root / "l").read_text(), outside.read_text()) == ("d", "l", "mine")


def test_names_below_a_link_lie_where_the_image_would_see_them(tmp_path: Path) -> None:
    """As with /lib -> usr/lib; an absolute link begins at the image's root."""
    links = tar(symlink("lib", "usr/lib"), symlink("abs", "/usr/lib"), symlink("up", "../../../usr"))
    root = laid(tmp_path, links, tar(file("lib/one"), file("abs/two"), file("up/three")))
    assert {"usr/lib/one", "usr/lib/two", "usr/three"} <= set(names(root))


def test_a_second_name_is_the_same_file(tmp_path: Path) -> None:
    root = laid(tmp_path, tar(file("a", "text"), hardlink("b", "/a"), hardlink("a", "a")))
    assert (root / "a").samefile(root / "b")


def test_a_file_keeps_its_holes(tmp_path: Path) -> None:
    """GNU's sparse files, as `tar --sparse` writes them."""
    text = b"2\n0\n5\n1048576\n3\n".ljust(512, b"\0") + b"helloend"
    headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "s",
        "GNU.sparse.realsize": "1048579",
    }
    root = laid(tmp_path, tar(entry("s.0", text=text, pax_headers=headers)))
    found = (root / "s").read_bytes()
    assert (found[:5], found[-3:], len(found), found.count(0)) == (b"hello", b"end", 1048579, 1048571)
    assert (root / "s").stat().st_blocks * 512 < 1048576


def test_what_could_raise_somebody_does_not_come_along(tmp_path: Path) -> None:
    """Setuid, write permission for others, devices, pipes (T20)."""
    layer = tar(
        file("su", mode=0o6777), directory("tmp", mode=0o1777), entry("null", tarfile.CHRTYPE, devmajor=1, devminor=3),
        entry("disk", tarfile.BLKTYPE), entry("pipe", tarfile.FIFOTYPE),
        file("x", pax_headers={"SCHILY.xattr.user.a": "b"}),
    )  # fmt: skip
    root = laid(tmp_path, layer)
    modes = {name: stat.S_IMODE((root / name).stat().st_mode) for name in names(root)}
    assert modes == {"su": 0o755, "tmp": 0o755, "x": 0o644}
    assert os.listxattr(root / "x") == []


def bomb() -> bytes:
    """A header that says it is followed by eight gigabytes of headers."""
    made = tarfile.TarInfo("x")
    made.type, made.size = tarfile.XHDTYPE, 8 << 30
    return made.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024


def backwards() -> bytes:
    """An entry that leads back to itself."""
    return tar(file("a", pax_headers={"size": "-1536"}), file("b"))


def holes_backwards() -> bytes:
    """The same by a file with holes, whose real size is another field."""
    made = tarfile.TarInfo("s")
    made.type, made.size = tarfile.GNUTYPE_SPARSE, -512
    return tarfile.TarInfo("a").tobuf() + made.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


SPARSE = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
HOSTILE = {
    "dots": tar(file("../outside")),
    "dots in the middle": tar(file("a/../../outside")),
    "a second name of a file outside": tar(hardlink("a", "../outside")),
    "a second name of nothing": tar(hardlink("a", "no")),
    "a second name of a directory": tar(directory("d"), hardlink("a", "d")),
    "a second name of what it replaces": tar(file("d/f"), hardlink("d", "d/f")),
    "a whiteout of the directory": tar(file("d/.wh..")),
    "a whiteout of the one above": tar(file("d/.wh...")),
    "a file in a file": tar(file("f"), file("f/g")),
    "links in a circle": tar(symlink("a", "b"), symlink("b", "a"), file("a/x")),
    "a link to nothing": tar(entry("l", tarfile.SYMTYPE)),
    "a long name": tar(file("n" * 256)),
    "a long path": tar(file("/".join(["n" * 200] * 30))),
    "deep directories": tar(directory("/".join("d" * (DEEPEST + 1)))),
    "deep directories by a link": tar(symlink("l", "/".join("d" * 150)), directory("l/" + "/".join("d" * 150))),
    "endless headers": bomb(),
    "entries in a circle": backwards(),
    "holes in a circle": holes_backwards(),
    "holes that overlap": tar(entry("s", text=b"2\n9\n5\n0\n3\n".ljust(520), pax_headers=SPARSE)),
    "no tar": b"nothing" * 1000,
    "half a tar": tar(file("a", "x" * 5000))[:2000],
    "a zero in a name": tar(file("x", pax_headers={"path": "a\0b"})),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_tar_that_means_harm_is_refused(tmp_path: Path, case: str) -> None:
    (tmp_path / "outside").write_text("mine")
    with pytest.raises(BadImage):
        laid(tmp_path / "place", HOSTILE[case])
    assert (tmp_path / "outside").read_text() == "mine"


def test_a_date_that_is_no_number_is_no_date(tmp_path: Path) -> None:
    root = laid(tmp_path, tar(file("a", pax_headers={"mtime": "nan"}), file("b", pax_headers={"mtime": "1e300"})))
    assert {(root / name).stat().st_mtime for name in "ab"} == {0}


def test_more_than_images_may_be_is_not_unpacked(tmp_path: Path) -> None:
    """Holes count as what they will be read as."""
    headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 50)}
    hole = tar(entry("s", text=b"0\n".ljust(512, b"\0"), pax_headers=headers))
    for number, (layer, limits) in enumerate([
        (hole, Limits()), (tar(file("a", "x" * 11)), Limits(bytes=10)), (tar(*map(file, "abc")), Limits(entries=2)),
    ]):  # fmt: skip
        with pytest.raises(BadImage, match="too large"):
            laid(tmp_path / str(number), layer, limits=limits)


NAMES = st.lists(
    st.sampled_from(["a", "b", "..", ".", "", "l", ".wh.a", ".wh..wh..opq", ".wh...", "canary"]), max_size=4
)
PATHS = st.builds(lambda front, parts: front + "/".join(parts), st.sampled_from(["", "/", "./", "../"]), NAMES)
KINDS = st.sampled_from([
    tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE,
    tarfile.CHRTYPE,
])  # fmt: skip
ENTRIES = st.tuples(PATHS, KINDS, PATHS, st.integers(0, 0o7777))
LAYERS = st.lists(st.lists(ENTRIES, max_size=8), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(LAYERS)
def test_whatever_a_tar_says_nothing_outside_changes(layers: list[list[tuple[str, bytes, str, int]]]) -> None:
    """The tree lies two directories deep, beside files that names with dots and links would reach."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for canary in ("canary", "a", "deep/canary", "deep/a"):
            (place / canary).parent.mkdir(exist_ok=True)
            (place / canary).write_text("mine")
        root = place / "deep/root"
        root.mkdir()
        for number, layer in enumerate(layers):
            made = [
                entry(path, kind, text=b"theirs" if kind == tarfile.REGTYPE else b"", link=link, mode=mode)
                for path, kind, link, mode in layer
            ]
            Path(name, f"{number}.tar").write_bytes(tar(*made))
            try:
                lay(place / f"{number}.tar", root, Limits())
            except BadImage:
                break
        others = sorted(str(path.relative_to(place)) for path in place.rglob("*") if not path.is_relative_to(root))
        assert [one for one in others if not one.endswith(".tar")] == ["a", "canary", "deep", "deep/a", "deep/canary"]
        assert {(place / one).read_text() for one in ("canary", "a", "deep/canary", "deep/a")} == {"mine"}
        for path in root.rglob("*"):
            is_ = path.lstat()
            assert stat.S_IFMT(is_.st_mode) in {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}
            assert stat.S_ISLNK(is_.st_mode) or not is_.st_mode & 0o7022


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=4096), st.integers(0, 2000))
def test_no_bytes_break_the_reader(noise: bytes, at: int) -> None:
    """Refused, or read; never anything else."""
    whole = bytearray(tar(directory("d"), file("d/f", "text" * 50), symlink("l", "d"), file("x" * 150, "long")))
    whole[at : at + len(noise)] = noise
    with tempfile.TemporaryDirectory() as name:
        layer, root = Path(name, "layer"), Path(name, "root")
        layer.write_bytes(io.BytesIO(whole).getvalue())
        root.mkdir()
        with suppress(BadImage):
            lay(layer, root, Limits())
