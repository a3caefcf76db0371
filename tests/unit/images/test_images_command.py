"""`penstock images`: what a person sees."""

from __future__ import annotations

import json
import os
import re
import tarfile
import time
from pathlib import Path

import pytest

from penstock.cli import main
from penstock.images.build import content_key
from penstock.images.library import Image, Library
from penstock.images.recipe import book

from .builders import put


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of its own."""
    monkeypatch.setenv("PENSTOCK_STATE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ready(library: Library, *roles: str) -> list[Image]:
    """Put images as a build of today's recipes would have made them."""
    known = book()
    return [
        put(
            library,
            f"localhost/penstock/{role}:26.05",
            key=content_key(known.recipe(role), "forky", {}),
            built=time.time() - 7200,
            size=94_400_000,
        )
        for role in roles
    ]


def test_a_second_build_does_nothing(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    """Cached by content: not even the archive is asked, so no root is needed."""
    ready(library, "base", "slurm", "worker", "login", "mariadb")
    before = {path: path.stat().st_mtime_ns for path in library.directory.rglob("*")}
    assert main(["images", "build"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    line = "localhost/penstock/slurm:26.05  was there: version 26.05.5, 2 packages, 94 MB\n"
    assert line in said.out
    assert "Next: penstock images list" in said.out
    assert {path: path.stat().st_mtime_ns for path in library.directory.rglob("*")} == before


def test_the_table_shows_what_there_is(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    ready(library, "slurm")
    put(library, "localhost/penstock/slurm:26.05", built=time.time() - 30 * 86400, content="old")
    assert main(["images", "list"]) == 0
    heading, first, second = capsys.readouterr().out.splitlines()
    assert re.split(r"  +", heading) == ["NAME", "VERSION", "SUITE", "PACKAGES", "SIZE", "AGE"]
    assert re.split(r"  +", first) == ["localhost/penstock/slurm:26.05", "26.05.5", "forky", "2", "94 MB", "2h"]
    assert re.split(r"  +", second)[::5] == ["(superseded)", "30d"]


def test_the_list_as_json(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    image = ready(library, "slurm")[0]
    assert main(["images", "list", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "names": ["localhost/penstock/slurm:26.05"],
            "digest": image.digest,
            "version": "26.05.5",
            "suite": "forky",
            "packages": 2,
            "size": 94_400_000,
            "built": image.built,
            "rootfs": str(image.rootfs),
        }
    ]


def test_images_may_be_elsewhere(
    library: Library, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where `penstock up` looks for them, there they are listed."""
    ready(library, "slurm")
    library.directory.rename(state / "elsewhere")
    monkeypatch.setenv("PENSTOCK_IMAGES", str(state / "elsewhere"))
    assert main(["images", "list"]) == 0
    assert "localhost/penstock/slurm:26.05" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["build", "list", "export", "import", "prune"])
def test_every_verb_explains_itself_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["images", verb, "--help"])
    assert f"\n  penstock images {verb} " in capsys.readouterr().out.partition("examples:")[2]


def test_an_empty_list_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["images", "list"]) == 0
    assert capsys.readouterr().out == "No images yet; build them by: penstock images build\n"


@pytest.mark.parametrize("name", ["slurm", "localhost/penstock/slurm:26.05"])
def test_the_packages_of_an_image(name: str, library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    ready(library, "slurm")
    assert main(["images", "list", "--packages", name]) == 0
    assert capsys.readouterr().out == "bash=5.3-1\nslurmctld=26.05.5-1\n"
    assert main(["images", "list", "--packages", name, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "localhost/penstock/slurm:26.05"


def test_a_bare_role_means_what_a_bare_build_makes(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    """Whichever was built last: else a build from such a list would ask one suite for the versions of another."""
    later = {"suite": "trixie", "built": time.time(), "packages": ("bash=5.2-15",)}
    put(library, "localhost/penstock/slurm:24.11", **later)
    assert main(["images", "list", "--packages", "slurm"]) == 0
    assert capsys.readouterr().out == "bash=5.2-15\n", "better than nothing"
    ready(library, "slurm")
    assert main(["images", "list", "--packages", "slurm"]) == 0
    assert capsys.readouterr().out == "bash=5.3-1\nslurmctld=26.05.5-1\n"
    assert main(["images", "list", "--packages", "slurm", "--suite", "trixie"]) == 0
    assert capsys.readouterr().out == "bash=5.2-15\n"


def test_an_export_tells_its_digest(library: Library, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ready(library, "slurm")
    assert main(["images", "export", "slurm", "--to", "slurm.tar"]) == 0
    said = capsys.readouterr().out
    index = json.loads(_member(state / "slurm.tar", "index.json"))
    assert index["manifests"][0]["digest"] in said
    assert "Next: podman load -i slurm.tar" in said


def _member(path: Path, name: str) -> bytes:
    with tarfile.open(path) as tar:
        content = tar.extractfile(name)
        assert content is not None
        return content.read()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["build", "nothing"], "there is no image 'nothing', only base, slurm, worker, "),
        (["build", "--suite", "sid"], "there is no suite 'sid', only forky, trixie"),
        (["export", "login", "--to", "x.tar"], "build it by: penstock images build login"),
        (["list", "--packages", "login"], "build it by: penstock images build login"),
    ],
)
def test_a_call_that_cannot_work_says_why(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["images", *words]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("penstock images: ")
    assert message in said.err
    assert said.out == ""


@pytest.mark.usefixtures("library")
def test_missing_programs_are_named_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["images", "build"]) == 1
    assert "get them by: apt-get install apt coreutils dpkg libc-bin tar util-linux" in capsys.readouterr().err


def test_who_is_not_root_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["images", "build"]) == 1
    assert "building images needs root" in capsys.readouterr().err


def test_superseded_images_can_be_removed(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    ready(library, "slurm")
    put(library, "localhost/penstock/slurm:26.05", built=1.0, content="old", size=50_000_000)
    assert main(["images", "prune"]) == 0
    assert capsys.readouterr().out.endswith("1 superseded images removed, 50 MB\n")
    assert len(library.all()) == 1
