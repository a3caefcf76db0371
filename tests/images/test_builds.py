"""Building: once, whole or not at all, by one at a time, and the same again from a list of packages."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.images import oci
from penstock.images.build import Progress, build
from penstock.images.errors import PackageGone
from penstock.images.library import Library
from penstock.images.packages import write_list
from penstock.images.recipe import book

from .conftest import Images

PROGRAM = [sys.executable, "-m", "penstock", "images"]


@pytest.fixture(scope="session")
def suite() -> str:
    """One suite is enough: who builds does not look at what it builds."""
    return book().default_suite


@pytest.fixture
def empty(library: Library, images: Images, tmp_path: Path) -> Library:
    """A library without images, whose packages have been downloaded already."""
    assert images
    archives = tmp_path / "images/.apt/archives"
    archives.parent.mkdir(parents=True)
    shutil.copytree(library.directory / ".apt/archives", archives, copy_function=os.link)
    return Library(tmp_path / "images")


def started(library: Library, suite: str, *words: str) -> subprocess.Popen[str]:
    """Build the smallest image by the command."""
    command = [*PROGRAM, "build", "base", "--suite", suite, "--directory", str(library.directory), *words]
    # Who runs the tests in the background of a shell has ^C ignored, and children inherit that.
    hearing = ["env", "--default-signal=INT", *command]
    return subprocess.Popen(hearing, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def names(library: Library) -> Sequence[str]:
    """What lies in a library, hidden things without apt's."""
    return sorted(path.name for path in library.directory.iterdir() if path.name != ".apt")


def test_a_second_build_asks_nobody(library: Library, images: Images, suite: str) -> None:
    told: list[Progress] = []
    again = build(library, (), suite, progress=told.append)
    assert told == []
    assert {image.digest for image in again} == {image.digest for image in images.values()}


def test_a_killed_build_leaves_nothing_that_has_a_name(empty: Library, suite: str) -> None:
    for step in ("index", "unpacking", "users"):
        with started(empty, suite) as building:
            assert building.stderr is not None
            assert any(step in line for line in building.stderr)  # reads until the step begins
            building.send_signal(signal.SIGKILL)
        assert empty.all() == []
    with started(empty, suite) as building:
        said = building.communicate()
    assert building.returncode == 0, said
    assert names(empty) == [".lock", empty.place(empty.all()[0].digest).name]


def test_an_interrupted_build_cleans_up_itself(empty: Library, suite: str) -> None:
    with started(empty, suite) as building:
        assert building.stderr is not None
        assert any("unpacking" in line for line in building.stderr)
        building.send_signal(signal.SIGINT)
    assert building.returncode != 0
    assert names(empty) == [".lock"]


def test_two_builders_make_one_image(empty: Library, suite: str) -> None:
    with started(empty, suite) as one, started(empty, suite) as two:
        said = [builder.communicate() for builder in (one, two)]
    assert [builder.returncode for builder in (one, two)] == [0, 0], said
    assert len(empty.all()) == 1
    # Whoever waited found the other's work: one of them was told of steps, and no more.
    assert sorted(bool(err) for _, err in said) == [False, True]


def test_the_same_packages_make_the_same_bytes(images: Images, empty: Library, suite: str, tmp_path: Path) -> None:
    """Reproducible from a package list with versions: another build, elsewhere, by the list of the first."""
    first = images["base"]
    (tmp_path / "packages.txt").write_text(write_list(first.packages))
    with started(empty, suite, "--packages", str(tmp_path / "packages.txt")) as building:
        said = building.communicate()
    assert building.returncode == 0, said
    second = empty.all()[0]
    exports = [
        oci.export(image, tmp_path / f"{place}.tar", architecture="amd64")
        for place, image in (("first", first), ("second", second))
    ]
    assert exports[0].digest == exports[1].digest
    assert exports[0].path.read_bytes() == exports[1].path.read_bytes()


def test_a_version_that_the_archive_does_not_have_is_told(images: Images, empty: Library, suite: str) -> None:
    pins = {package.name: package.version for package in images["base"].packages} | {"bash": "4.0-1"}
    with pytest.raises(PackageGone, match=r"the archive no longer has bash=4\.0-1 \(it has 5\.[^)]+\); point"):
        build(empty, ["base"], suite, pins=pins)
    assert empty.all() == []


def test_asking_for_newer_packages_finds_none_today(images: Images, library: Library, suite: str) -> None:
    before = images["base"]
    told: list[Progress] = []
    after = build(library, ["base"], suite, refresh=True, progress=told.append)[0]
    assert told
    assert after.digest == before.digest or after.packages != before.packages
