"""What an earlier run of the machine had begun is begun anew, and nothing of this run ever is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.engine import leftovers, processes
from penstock.engine.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A cluster with a pod that has a container."""
    made = Layout(cluster="c", state=tmp_path / "state", run=tmp_path / "run")
    made.make()
    (made.pod("uid") / "containers" / "main").mkdir(parents=True)
    (made.pod("uid") / "volumes").mkdir()
    return made


def left(layout: Layout) -> list[str]:
    return sorted(path.name for path in layout.pod("uid").iterdir())


@pytest.mark.parametrize("note", [b"another run of the machine", b"\0" * 36, b"\xff\xfe"])
def test_after_a_restart_of_the_machine_containers_are_forgotten_and_volumes_kept(layout: Layout, note: bytes) -> None:
    """Also when the power went while the note was on its way to the disk."""
    (layout.state / "boot").write_bytes(note)
    leftovers.forget_last_boot(layout)
    assert left(layout) == ["volumes"]
    (layout.pod("uid") / "containers").mkdir()
    leftovers.forget_last_boot(layout)
    assert left(layout) == ["containers", "volumes"]


def test_a_note_that_was_never_finished_says_nothing(layout: Layout) -> None:
    """Who was killed while it wrote it left it empty; its containers run."""
    (layout.state / "boot").write_text("")
    leftovers.forget_last_boot(layout)
    assert left(layout) == ["containers", "volumes"]
    assert (layout.state / "boot").read_text() == processes.boot_id()


def test_within_one_run_of_the_machine_the_note_is_not_touched(layout: Layout) -> None:
    leftovers.forget_last_boot(layout)
    os.utime(layout.state / "boot", ns=(1, 1))
    leftovers.forget_last_boot(layout)
    assert (layout.state / "boot").stat().st_mtime_ns == 1
