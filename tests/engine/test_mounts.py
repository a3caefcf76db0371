"""Mounts without a program: made, seen, undone, however odd their names are."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engine import mounts
from penstock.engine.mounts import MountError

ODD = "a b,c:d\\e\tf\ng"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory below which nothing stays mounted."""
    yield tmp_path
    mounts.unmount_below(tmp_path)
    assert mounts.mounted_below(tmp_path) == []


def made(*directories: Path) -> None:
    for directory in directories:
        directory.mkdir(parents=True)


def test_an_overlay_shows_what_is_below_and_keeps_it(place: Path) -> None:
    names = ("top", "base", "upper", "work", "merged")
    top, base, upper, work, merged = (place / ODD / name for name in names)
    made(top, base, upper, work, merged)
    (base / "file").write_text("base")
    (base / "other").write_text("other")
    (top / "file").write_text("top")
    mounts.overlay([top, base], merged, upper=upper, work=work)
    assert (merged / "file").read_text() == "top"
    (merged / "file").write_text("changed")
    (merged / "other").unlink()
    assert ((top / "file").read_text(), (base / "other").read_text()) == ("top", "other")
    assert (upper / "file").read_text() == "changed"
    assert [one.target for one in mounts.mounted_below(place)] == [merged]


def test_paths_that_are_too_long_for_the_kernel_are_said(place: Path) -> None:
    with pytest.raises(MountError, match="too long together") as problem:
        mounts.overlay([place / ("x" * 200)] * 25, place, upper=place, work=place)
    assert problem.value.errno == errno.E2BIG


def test_one_look_tells_whether_something_is_mounted_right_there(place: Path) -> None:
    """Also a directory of the same file system; not what is inside of a mount, nor what is not there."""
    source, bound, memory = place / "source", place / "bound", place / "memory"
    made(source / "inside", bound, memory)
    assert not mounts.is_mounted(bound)
    mounts.bind(source, bound)
    mounts.tmpfs(memory)
    (place / "link").symlink_to(bound)
    assert [mounts.is_mounted(one) for one in (bound, memory, place / "link", Path("/"))] == [True] * 4
    assert [mounts.is_mounted(one) for one in (source, bound / "inside", place / "nowhere")] == [False] * 3


def test_a_bind_may_be_for_reading_only(place: Path) -> None:
    source, one, two = place / "source", place / "one", place / "two"
    made(source, one, two)
    mounts.bind(source, one)
    mounts.bind(source, two, read_only=True)
    (one / "file").write_text("x")
    assert (two / "file").read_text() == "x"
    with pytest.raises(OSError, match="Read-only"):
        (two / "file").write_text("y")


def test_a_file_can_be_bound(place: Path) -> None:
    (place / "a").write_text("a")
    (place / "b").write_text("b")
    mounts.bind(place / "a", place / "b")
    assert (place / "b").read_text() == "a"
    mounts.unmount(place / "b")
    assert (place / "b").read_text() == "b"


def test_memory_is_limited(place: Path) -> None:
    mounts.tmpfs(place, size=65_536, mode=0o711)
    assert place.stat().st_mode & 0o777 == 0o711
    with pytest.raises(OSError, match="No space"):
        (place / "file").write_bytes(b"x" * 100_000)


def test_everything_below_is_undone_whatever_lies_on_top_of_what(place: Path) -> None:
    mounts.tmpfs(place / made_in(place, "a"))
    mounts.tmpfs(place / made_in(place, "a/b"))
    mounts.tmpfs(place / "a/b")
    mounts.tmpfs(place / made_in(place, "ab"))
    mounts.unmount_below(place / "a")
    assert [one.target for one in mounts.mounted_below(place)] == [place / "ab"]
    assert mounts.is_mounted(place / "ab")
    mounts.unmount_below(place / "a")
    mounts.unmount(place / "a")
    mounts.unmount(place / "never/was")


def test_a_busy_mount_is_an_error_when_asked_for_and_taken_out_of_sight_when_all_goes(place: Path) -> None:
    mounts.tmpfs(place / made_in(place, "a"))
    with (place / "a/file").open("w"):
        with pytest.raises(MountError, match=f"unmount {place}/a: Device or resource busy"):
            mounts.unmount(place / "a")
        mounts.unmount_below(place)
        assert mounts.mounted_below(place) == []


def test_refusals_name_the_path_and_the_kernels_words(place: Path) -> None:
    with pytest.raises(MountError, match=f"mount {place}/none on {place}/no: No such file or directory") as problem:
        mounts.bind(place / "none", place / "no")
    assert problem.value.errno == errno.ENOENT


def test_a_link_is_not_followed(place: Path) -> None:
    mounts.tmpfs(place / made_in(place, "a"))
    (place / "link").symlink_to(place / "a")
    mounts.unmount(place / "link")
    assert mounts.is_mounted(place / "a")


def made_in(place: Path, name: str) -> str:
    (place / name).mkdir()
    return name
