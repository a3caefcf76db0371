"""Slurm's own parser accepts every golden configuration: what we write for a release, that release reads."""

import re
from pathlib import Path

import pytest

import golden

from .slurm_parser import SlurmParser

READABLE = ("slurm.conf", "slurmdbd.conf")
MEANT = (
    # What extraConf sets is merged with ours and written again behind it (MERGED CONFIG): the last one counts.
    r"SlurmctldParameters \d specified more than once, latest value used",
    # A person's own `include /usr/share/pyxis/*`: slurmctld cannot send such files along, nodes have them.
    r"Slurm does not support glob parsing\. /usr/share/pyxis/\*",
    r'"Include" failed in file /etc/slurm/plugstack\.conf line 2',
)


def configurations(release: str) -> list[Path]:
    """Every directory of golden files that a daemon of the release reads; clients' few lines are no daemon's."""
    return sorted(
        path.parent
        for path in golden.GOLDEN.glob(f"*/files-{release}/*/*/*")
        if path.name in READABLE and not for_clients_only(path)
    )


def for_clients_only(path: Path) -> bool:
    """The minimal slurm.conf of an external controller has no StateSaveLocation: slurmctld is not its reader."""
    return path.name == "slurm.conf" and "StateSaveLocation" not in path.read_text()


@pytest.mark.parametrize("release", [str(release) for release in golden.RELEASES])
def test_there_are_golden_configurations(release: str) -> None:
    assert len(configurations(release)) > 15


def test_slurm_reads_every_golden_configuration(slurm: SlurmParser) -> None:
    """PT-1, PT-8: slurm.conf and all that lies beside it, slurmdbd.conf; real daemons of 26.05 and 24.11."""
    release = ".".join(slurm.version.split(".")[:2])
    findings = {}
    for directory in configurations(release):
        files = {path.name: path.read_text() for path in directory.iterdir()}
        if complaints := [words for words in slurm.check(files) if not re.search("|".join(MEANT), words)]:
            findings[str(directory.relative_to(golden.GOLDEN))] = complaints
    assert findings == {}
