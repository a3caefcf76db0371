"""Which Slurm release is meant: what an image's tag tells, and what it does not."""

from __future__ import annotations

import pytest

from penstock.render.contract import V24_11, V26_05, SlurmVersion, version_of


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("ghcr.io/slinkyproject/slurmd:25.05-rockylinux9", SlurmVersion(25, 5)),
        ("registry.example.com:5000/slurm:24.11", V24_11),
        ("localhost/penstock/worker:26.05", V26_05),
        ("nvcr.example.com/pytorch:24.01-py3", V26_05),
        ("example.com/slurmd:latest", V26_05),
        ("example.com/slurmd", V26_05),
        (None, V26_05),
    ],
)
def test_a_tag_names_a_release_only_if_slurm_has_such_a_one(image: str | None, release: SlurmVersion) -> None:
    assert version_of(image) == release


def test_what_is_no_release_is_refused_with_an_example() -> None:
    with pytest.raises(ValueError, match=r"write for instance 26\.05"):
        SlurmVersion.parse("newest")
