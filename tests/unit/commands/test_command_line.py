"""The command tells what it can do, helps with mistakes, and never shows a traceback."""

import gc
import os
import signal
import subprocess
import sys

import pytest

from penstock import __version__
from penstock.cli import COMMANDS, main

from .terminal import Terminal

NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_the_overview_lists_every_command(terminal: Terminal, words: list[str]) -> None:
    said = terminal.run(*words)
    assert (said.code, said.err) == (0, "")
    listed = [line.split()[0] for line in said.out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()]
    assert listed == NAMES
    assert "Examples:\n  penstock up " in said.out


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself_with_examples(terminal: Terminal, name: str) -> None:
    said = terminal.run(name, "--help")
    assert said.code == 0
    assert said.out.startswith(f"usage: penstock {name}")
    assert f"\n  penstock {name} " in said.out.partition("examples:")[2]


@pytest.mark.parametrize("word", ["-V", "--version"])
def test_the_version_is_told(terminal: Terminal, word: str) -> None:
    assert terminal.run(word).out == f"penstock {__version__}\n"


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("rendr", "did you mean `penstock render`?"),
        ("Validate", "did you mean `penstock validate`?"),
        ("deploy", "`penstock --help` lists the commands."),
    ],
)
def test_an_unknown_command_is_met_with_a_hint(terminal: Terminal, word: str, hint: str) -> None:
    said = terminal.run(word)
    assert (said.code, said.out, said.err) == (2, "", f"penstock: there is no command '{word}'; {hint}\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["validate"], "the following arguments are required: FILE"),
        (["validate", "x", "--output", "xml"], "invalid choice: 'xml'"),
        (["render"], "name a manifest to render, or --sample"),
        (["render", "--sample", "--slurm", "new"], "'new' is not a Slurm release; write for instance 26.05"),
        (["crds", "--directory"], "expected one argument"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_how_to_call(terminal: Terminal, words: list[str], told: str) -> None:
    said = terminal.run(*words)
    assert (said.code, said.out) == (2, "")
    assert f"usage: penstock {words[0]}" in said.err
    assert told in said.err


@pytest.mark.parametrize("words", [["crds"], ["render", "--sample"]])
def test_a_directory_that_cannot_be_made_is_told(terminal: Terminal, words: list[str]) -> None:
    terminal.write({"file": ""})
    said = terminal.run(*words, "--directory", "file/below")
    assert said.code == 2
    last = said.err.splitlines()[-1]
    assert last.startswith(f"penstock {words[0]}: file/below")
    assert last.endswith(": Not a directory; check the name and permissions")


def test_the_package_runs_as_a_module() -> None:
    """`python -m penstock` is the command, for those whose PATH lacks it."""
    ran = subprocess.run([sys.executable, "-m", "penstock", "--version"], check=True, capture_output=True, text=True)
    assert ran.stdout == f"penstock {__version__}\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("word", ["crds", "--help"])
def test_a_reader_that_has_seen_enough_is_no_error(word: str, unbuffered: str) -> None:
    """`penstock crds | head` ends without a complaint."""
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(  # noqa: S603 - our own interpreter and one of two words
        [sys.executable, "-m", "penstock", word],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        check=False,
    )
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_who_interrupts_sees_no_traceback() -> None:
    """^C at any command: a line, and 130."""
    words = [sys.executable, "-m", "penstock", "down", "--purge", "--cluster", "nobodys"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asking:  # noqa: S603
        assert asking.stderr is not None
        asked = ""
        while not asked.endswith("to agree: "):
            asked += asking.stderr.read(1)
        asking.send_signal(signal.SIGINT)
        assert (asking.wait(), asking.stderr.read()) == (130, "penstock down: interrupted\n")


def test_whoever_calls_us_keeps_its_own_garbage(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the command, in a process of its own, sets aside what is loaded."""
    frozen = gc.get_freeze_count()
    assert main(["crds"]) == 0
    assert capsys.readouterr().out
    assert gc.get_freeze_count() == frozen
