"""Programs that builds run: what they say when they fail reaches the person, and none outlives its caller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.images.apt import Apt
from penstock.images.commands import run
from penstock.images.errors import ArchiveUnreachable, BuildFailed, ImageError
from penstock.images.recipe import Suite


def test_a_failure_shows_the_command_and_its_last_words() -> None:
    with pytest.raises(BuildFailed, match=r"(?s)`/bin/sh -c .*` ended with 3\. Its last words:\n    one\n    two"):
        run(["/bin/sh", "-c", "echo one; echo two >&2; exit 3"])


def test_an_archive_that_does_not_answer_is_told_in_a_sentence() -> None:
    words = "Err:1 x\\n  Temporary failure resolving 'mirror.example'\\nE: Failed to fetch\\n"
    with pytest.raises(ArchiveUnreachable, match=r"check network and proxy, then run again\.\n    Temporary failure"):
        run(["/bin/sh", "-c", f'printf "{words}"; exit 100'])


def test_a_command_has_the_environment_that_it_is_given() -> None:
    assert run(["/usr/bin/env"], env={"OWN": "x"}).splitlines().count("OWN=x") == 1


def test_a_command_reads_what_it_is_given_and_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("hello")
    assert run(["/bin/cat"], stdin=tmp_path / "words") == "hello"
    assert run(["/bin/cat"]) == ""


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_does_not_outlive_its_caller(end: signal.Signals, tmp_path: Path) -> None:
    """An apt-get that went on alone would keep its locks."""
    pipe = tmp_path / "alive"
    os.mkfifo(pipe)
    script = (
        "import signal; from penstock.images.commands import run\n"
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        f"run(['/bin/sh', '-c', 'exec 3>{pipe}; echo up >&3; exec sleep 60'])\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as caller, pipe.open() as alive:  # noqa: S603
        assert alive.readline() == "up\n"
        caller.send_signal(end)
        assert alive.read() == ""  # the end of the file: nobody has the pipe open any more


def test_a_command_whose_caller_was_killed_first_does_not_begin(tmp_path: Path) -> None:
    """Between a command's birth and its wish to end with its caller there is a moment."""
    alive, go, slow, began = (tmp_path / name for name in ("alive", "go", "setpriv", "began"))
    os.mkfifo(alive)
    os.mkfifo(go)
    slow.write_text(f'#!/bin/sh\nexec 3>{alive}; echo up >&3; read word <{go}; exec /usr/bin/setpriv "$@"\n')
    slow.chmod(0o755)
    script = f"from penstock.images.commands import run; run(['/bin/touch', '{began}'])"
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen([sys.executable, "-c", script], env=env) as caller, alive.open() as pipe:  # noqa: S603
        assert pipe.readline() == "up\n"
        caller.kill()
        caller.wait()
        go.write_text("go\n")
        assert pipe.read() == ""
    assert not began.exists()


def test_a_directory_that_apt_could_misread_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="without quotes in its name"):
        Apt(tmp_path / 'a"; Dir::Etc "x', "forky", Suite())
