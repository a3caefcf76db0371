"""A shared root is filled from the image that runs: whole or not at all, and people's own part of it stays (TR-3)."""

from __future__ import annotations

import os
import signal
import stat
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import pytest

from .conftest import Images
from .room import Room

SCRIPT = files("penstock.render").joinpath("fill_shared_root.sh").read_text("utf-8")
ROOT = "/mnt/shared-root"
FIRST = "localhost/penstock/base:first"


class Claim:
    """A room of a small image, and a claim that is mounted in it."""

    def __init__(self, room: Room) -> None:
        self.room, self.root = room, room.inside(ROOT)
        self.root.mkdir(parents=True)

    def command(self, mark: str = "first", image: str = FIRST) -> list[str]:
        """The words of the container that fills."""
        return ["bash", "-c", SCRIPT, "fill", ROOT, mark, image]

    def filled(self, mark: str = "first", image: str = FIRST) -> str:
        """Fill it, and tell what was said."""
        return self.room.run(*self.command(mark, image))

    def refused(self) -> str:
        """Fill it in vain."""
        with self.room.started(*self.command()) as running:
            said, _ = running.communicate(timeout=120)
        assert running.returncode == 1
        return said

    def put(self, path: str, text: str = "") -> Path:
        """Write a file into the claim."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    @property
    def mark(self) -> list[str]:
        """What says that the root may be used, and what it was filled from; nothing when it may not."""
        place = self.root / ".penstock/root"
        return place.read_text().splitlines() if place.exists() else []


@pytest.fixture
def claim(images: Images, tmp_path: Path) -> Claim:
    """An empty claim."""
    return Claim(Room(images["base"], tmp_path))


def test_an_empty_claim_becomes_the_image(claim: Claim, images: Images) -> None:
    claim.put("lost+found/of-the-file-system")
    claim.room.write("/etc/written-before", "in the image\n")
    claim.room.inside("/etc/written-before").chmod(0o640)
    os.chown(claim.room.inside("/etc/written-before"), 7, 42)
    claim.filled()
    assert claim.mark == ["first", FIRST]
    source = images["base"].rootfs
    for path in ("usr/bin/bash", "etc/passwd", "var/lib/dpkg/status"):
        if (source / path).exists():
            assert (claim.root / path).read_bytes() == (source / path).read_bytes()
    assert (claim.root / "bin").readlink() == Path("usr/bin")
    ours = (claim.root / "etc/written-before").stat()
    assert (ours.st_uid, ours.st_gid, stat.S_IMODE(ours.st_mode)) == (7, 42, 0o640)
    for place in ("proc", "sys", "dev", "run", "tmp", "etc/slurm"):
        assert [*(claim.root / place).iterdir()] == []
    assert stat.S_IMODE((claim.root / "tmp").stat().st_mode) == 0o1777
    assert stat.S_IMODE(claim.root.stat().st_mode) == 0o755
    assert not (claim.root / ROOT.lstrip("/") / "usr").exists(), "not itself within itself"


def test_a_root_that_is_filled_is_left_alone(claim: Claim) -> None:
    claim.filled()
    (claim.root / "etc/motd").write_text("changed by somebody\n")
    (claim.root / "usr/bin/which").unlink()
    assert "before" in claim.filled()
    assert (claim.root / "etc/motd").read_text() == "changed by somebody\n"
    assert not (claim.root / "usr/bin/which").exists()


def test_whoever_is_killed_in_between_leaves_no_root_to_be_used(claim: Claim) -> None:
    with claim.room.started(*claim.command()) as running:
        while not (claim.root / "usr/bin").exists():
            assert running.poll() is None
        running.send_signal(signal.SIGSTOP)
    assert claim.mark == []
    assert claim.filled().splitlines() == ["fill: done"]
    assert claim.mark == ["first", FIRST]


def test_another_image_takes_the_place_of_the_system_and_of_nothing_else(claim: Claim) -> None:
    claim.filled()
    (claim.root / "etc/passwd").write_text("alice:x:1000:1000::/home/alice:/bin/bash\n")
    kept = ["home/alice/thesis", "usr/local/bin/tool", "etc/profile.d/site.sh", "project/data", "root/.bash_history"]
    for path in kept:
        claim.put(path, f"people's own: {path}\n")
    claim.put("usr/lib/of-the-old-image", "stale\n")
    claim.room.write("/usr/bin/of-the-new-image", "new\n")
    claim.room.write("/etc/of-the-new-image", "new\n")
    said = claim.filled("second", "localhost/penstock/base:second")
    assert FIRST in said
    assert claim.mark == ["second", "localhost/penstock/base:second"]
    assert {path: (claim.root / path).read_text() for path in kept} == {
        path: f"people's own: {path}\n" for path in kept
    }
    assert (claim.root / "etc/passwd").read_text().startswith("alice")
    assert not (claim.root / "usr/lib/of-the-old-image").exists()
    assert (claim.root / "usr/bin/of-the-new-image").exists()
    assert (claim.root / "etc/of-the-new-image").exists()
    assert sorted(path.name for path in (claim.root / ".penstock").iterdir()) == ["root"]


def inode(path: Path) -> int | None:
    """Which file lies there, if any."""
    with suppress(FileNotFoundError):
        return path.stat().st_ino
    return None


@pytest.mark.parametrize("moment", ["old", "usr/bin/bash"])
def test_whoever_is_killed_while_it_is_filled_again_loses_nothing_of_people(claim: Claim, moment: str) -> None:
    claim.filled()
    claim.put("usr/local/bin/tool", "people's own\n")
    watched = claim.root / (".penstock/old/usr" if moment == "old" else moment)
    before = inode(watched)
    with claim.room.started(*claim.command("second", "second")) as running:
        while inode(watched) in {None, before}:
            assert running.poll() is None
        running.send_signal(signal.SIGSTOP)
    assert claim.mark == []
    claim.filled("second", "second")
    assert (claim.root / "usr/local/bin/tool").read_text() == "people's own\n"
    assert (claim.root / "usr/bin/bash").exists()
    assert claim.mark == ["second", "second"]


def test_a_claim_with_somebodys_files_is_refused_and_left_alone(claim: Claim) -> None:
    claim.put("results/run-1.csv", "years of work\n")
    assert "holds other files (results" in claim.refused()
    assert claim.mark == []
    assert sorted(path.name for path in claim.root.iterdir()) == ["results"]


def test_a_root_that_somebody_else_made_is_taken_as_it_is(claim: Claim) -> None:
    claim.put("bin/sh", "theirs\n").chmod(0o755)
    claim.put("etc/passwd", "root:x:0:0::/root:/bin/sh\n")
    assert "taken as it is" in claim.filled()
    assert claim.mark[0] == "first"
    assert not (claim.root / "usr/bin/bash").exists()
    assert (claim.root / "etc/slurm").is_dir()
