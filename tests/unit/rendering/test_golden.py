"""What Penstock makes of every sample stays as it is, to the byte, until somebody means to change it."""

from __future__ import annotations

from pathlib import Path

import pytest

import golden

SAMPLES = golden.samples()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.parent.name}-{sample.stem}")
def test_a_sample_renders_to_its_golden_files(sample: Path) -> None:
    """Rows PT-1, PT-6, PT-8, ST-1, TR-4, CL-1: every sample of the seeds, and clusters of our own."""
    directory = golden.directory(sample)
    kept = {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}
    assert golden.golden(sample) == kept, "run `make golden` and look at what changed"


def test_every_golden_directory_has_a_sample() -> None:
    expected = {golden.directory(sample).name for sample in SAMPLES}
    assert {path.name for path in golden.GOLDEN.iterdir()} == expected
