"""`penstock status` of a cluster that does not answer at this moment: as at a start, or after a death."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.engine.layout import Layout
from penstock.machine import process

from .terminal import Terminal


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A cluster that somebody looks after, this process, who does not serve its API."""
    monkeypatch.setenv("PENSTOCK_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PENSTOCK_RUN", str(tmp_path / "run"))
    layout = Layout.of("lab")
    layout.make()
    return layout


@pytest.mark.parametrize("role", ["serve", "supervise"])
def test_silence_is_told_in_one_line(silent: Layout, terminal: Terminal, role: str) -> None:
    """Whether there is nobody between two lives, or somebody who has only begun."""
    process.note(silent, role)
    said = terminal.run("status", "--cluster", "lab")
    assert (said.code, said.out) == (1, "")
    told = f"cluster lab does not answer; if it does not in a few seconds, see {silent.log}"
    assert said.err == f"penstock status: {told}\n"


def test_who_watches_goes_on(silent: Layout) -> None:
    """The next life shows on the same screen; ^C ends the view."""
    process.note(silent, "serve")
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "penstock", "status", "--cluster", "lab", "--watch"]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as watching:  # noqa: S603
        os.close(theirs)
        until_shown(ours, "does not answer", "^C ends this view")
        assert watching.poll() is None
        watching.send_signal(signal.SIGINT)
        rest = to_its_end(ours)
        assert (watching.wait(), "Traceback" in rest) == (0, False)


def until_shown(terminal: int, *texts: str) -> None:
    """Read what is shown until all of this is."""
    shown = ""
    while not all(text in shown for text in texts):
        more = os.read(terminal, 1 << 16).decode()
        assert more, shown
        shown += more


def to_its_end(terminal: int) -> str:
    """All that is shown until nobody has the terminal any more."""
    shown = b""
    try:
        while more := os.read(terminal, 1 << 16):
            shown += more
    except OSError:
        pass  # so a terminal tells its end
    os.close(terminal)
    return shown.decode()
