"""Images are found by the names that pods use, and whoever asks for a missing one hears how to get it."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from penstock.images.errors import BadRecipe, MissingImage
from penstock.images.library import Library

from .builders import put

SLURM = "localhost/penstock/slurm"


def test_an_image_answers_to_all_of_its_names(library: Library) -> None:
    names = [f"{SLURM}:{tag}" for tag in ("26.05", "26.05.5", "forky", "latest")]
    image = put(library, names=names)
    assert {library.find(name).digest for name in (*names, SLURM, f"x@{image.digest}")} == {image.digest}
    assert library.find(SLURM).rootfs.is_dir()


@pytest.mark.parametrize("reference", ["slurm:26.05", f"{SLURM}:26", f"{SLURM}:26.05.6", "other/penstock/slurm:26.05"])
def test_a_name_that_is_only_alike_is_another_image(reference: str, library: Library) -> None:
    put(library)
    with pytest.raises(MissingImage):
        library.find(reference)


@pytest.mark.parametrize(
    ("reference", "advice"),
    [
        (f"{SLURM}:26.05", "has not been built .* by: penstock images build slurm$"),
        (f"{SLURM}:24.11", "by: penstock images build slurm --suite trixie$"),
        ("registry.example/me/worker:1", "by: penstock images import FILE.tar$"),
    ],
)
def test_a_missing_image_is_told_with_the_command_that_brings_it(reference: str, advice: str, library: Library) -> None:
    with pytest.raises(MissingImage, match=advice):
        library.find(reference)


def test_a_missing_image_is_told_with_those_that_are_there(library: Library) -> None:
    put(library, "localhost/penstock/login:26.05")
    with pytest.raises(MissingImage, match=r"here are localhost/penstock/login:26\.05"):
        library.find(SLURM)


def test_of_two_images_of_a_name_the_later_answers(library: Library) -> None:
    old, new = put(library, built=1.0, content="old"), put(library, built=2.0, content="new")
    assert [image.digest for image in library.all()] == [new.digest, old.digest]
    assert library.find(f"{SLURM}:26.05").digest == new.digest


def test_an_older_image_that_is_asked_for_answers_again(library: Library) -> None:
    """Whoever goes back to an older recipe gets what that recipe made."""
    old, new = put(library, built=1.0, content="old"), put(library, built=2.0, content="new")
    library.prefer(old)
    assert library.find(f"{SLURM}:26.05").digest == old.digest
    library.prefer(new)
    assert library.find(f"{SLURM}:26.05").digest == new.digest


def test_preferring_what_answers_already_writes_nothing(library: Library) -> None:
    image = put(library)
    record = library.place(image.digest) / "image.json"
    before = record.stat()
    library.prefer(image)
    assert record.stat() == before


def test_an_image_is_found_by_role_and_suite(library: Library) -> None:
    put(library, built=2.0, content="forky")
    trixie = put(library, f"{SLURM}:24.11", suite="trixie", built=1.0)
    assert library.of_role("slurm", "trixie").digest == trixie.digest
    assert library.of_role("slurm").suite == "forky"
    with pytest.raises(MissingImage, match="penstock images build worker"):
        library.of_role("worker")


def test_a_half_made_image_is_none(library: Library) -> None:
    image = put(library)
    place = library.place(image.digest)
    place.rename(place.with_name(".build-x"))
    assert library.all() == []


def test_a_library_that_is_not_there_is_empty(library: Library) -> None:
    assert library.all() == []


@pytest.mark.parametrize("digest", ["sha256:../../etc", "sha256:" + "g" * 64, "md5:1", ""])
def test_a_digest_cannot_lead_out_of_the_library(digest: str, library: Library) -> None:
    with pytest.raises(BadRecipe, match="is no digest"):
        library.place(digest)


# Superseded images go; whatever a name leads to stays.


def test_only_what_no_name_leads_to_goes(library: Library) -> None:
    old = put(library, names=[f"{SLURM}:26.05"], built=1.0, content="old")
    kept = put(library, names=[f"{SLURM}:26.05", f"{SLURM}:26.05.4"], built=2.0, content="kept")
    new = put(library, names=[f"{SLURM}:26.05"], built=3.0, content="new")
    assert [image.digest for image in library.prune()] == [old.digest]
    assert {image.digest for image in library.all()} == {kept.digest, new.digest}
    assert not old.rootfs.exists()


def test_young_ones_stay(library: Library) -> None:
    put(library, built=time.time() - 3 * 86400, content="old")
    put(library, built=time.time(), content="new")
    assert library.prune(unused_days=14) == []
    assert len(library.prune(unused_days=2)) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_what_a_container_runs_of_stays(library: Library) -> None:
    """The container's mounts are in a namespace of its own, where only /proc shows them."""
    old = put(library, built=1.0, content="old")
    put(library, built=2.0, content="new")
    script = 'mount -t overlay o -o lowerdir="$0":/usr/share /mnt && echo mounted && read -r line'
    command = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script, str(old.rootfs)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as container:  # noqa: S603
        assert container.stdin is not None
        assert container.stdout is not None
        assert container.stdout.readline() == b"mounted\n"
        assert library.prune() == []
        container.stdin.close()
    assert [image.digest for image in library.prune()] == [old.digest]
