"""What cannot be removed is told, with the reason, and keeps nothing else from going."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli import main
from penstock.engine import mounts
from penstock.engine.layout import Layout

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes mounts and networks away, which needs root")


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Layout]:
    """What a dead process left of a cluster: a pod, and one that cannot be a pod of ours."""
    monkeypatch.setenv("PENSTOCK_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PENSTOCK_RUN", str(tmp_path / "run"))
    found = Layout.of(f"rest-{os.getpid()}")
    found.make()
    for name in ("NOT ONE", "pod-1"):
        (found.pods / name / "containers").mkdir(parents=True)
    yield found
    for directory in (found.state, found.run):
        mounts.unmount_below(directory)


def immutable(path: Path, yes: bool) -> None:
    """Let nobody remove a file, root included; or let them again."""
    done = subprocess.run(["/usr/bin/chattr", "+i" if yes else "-i", path], check=False, capture_output=True)  # noqa: S603
    if done.returncode and yes:
        pytest.skip("the file system here knows no such files")


def test_a_pod_that_cannot_be_removed_is_told_and_the_others_go(
    layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["down", "--cluster", layout.cluster]) == 1
    said = capsys.readouterr().err
    assert f"is down, but this is left; look into it, then: penstock down --cluster {layout.cluster}\n" in said
    assert re.search(r"^  pod in .*/NOT ONE: .* is not the id of a pod", said, re.MULTILINE)
    assert [path.name for path in layout.pods.iterdir()] == ["NOT ONE"]
    assert not layout.run.exists()


def test_what_is_mounted_is_never_walked_into(layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    """A purge that cannot be whole says so; what lies behind a mount may be somebody's home."""
    (layout.pods / "NOT ONE/containers").rmdir()
    (layout.pods / "NOT ONE").rmdir()
    home = layout.run / "home"
    home.mkdir()
    mounts.tmpfs(home)
    (home / "precious").write_text("kept")
    assert main(["down", "--cluster", layout.cluster, "--purge", "--yes"]) == 1
    said = capsys.readouterr().err
    assert f"  {home}: something is mounted there still; unmount it first\n" in said
    assert "its data is gone" not in said
    assert (home / "precious").read_text() == "kept"
    assert not layout.state.exists()


def test_a_file_that_cannot_be_removed_is_named_once(layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    """Not its parents, too: that they are not empty then is no news."""
    (layout.pods / "NOT ONE/containers").rmdir()
    (layout.pods / "NOT ONE").rmdir()
    kept = layout.state / "claims/a/kept"
    kept.parent.mkdir()
    kept.write_text("")
    immutable(kept, True)
    try:
        assert main(["down", "--cluster", layout.cluster, "--purge", "--yes"]) == 1
    finally:
        immutable(kept, False)
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("  ")] == [
        f"  {kept}: Operation not permitted"
    ]
    assert main(["down", "--cluster", layout.cluster, "--purge", "--yes"]) == 0
    assert "its data is gone too" in capsys.readouterr().err
