"""What the kernel, runc and conmon write, read right: mounts, processes, refusals, logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import logs, mounts, processes
from penstock.engine.conmon import readable
from penstock.engine.logs import Joiner, Line

names = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1).filter(
    lambda name: name not in (".", "..")
)
parts = st.lists(st.binary(max_size=5).map(lambda text: text.replace(b"\n", b"")), min_size=1, max_size=3)
NOW = "2026-11-16T05:44:57.163630215+00:00"
REFUSAL = (
    'time="2026-11-16T05:44:59Z" level=error msg="runc create failed: unable to start container process: '
    'exec: \\"nosuch\\": executable file not found in $PATH"\n'
)


def escaped(text: str) -> str:
    """As the kernel writes a path into its list."""
    return "".join(f"\\{ord(letter):03o}" if letter in " \t\n\\" else letter for letter in text)


@given(names, names, st.lists(st.sampled_from(["shared:1", "master:2", "unbindable"]), max_size=3))
def test_any_path_in_the_kernels_list_of_mounts_is_found(target: str, source: str, optional: list[str]) -> None:
    line = " ".join(
        ["36", "35", "98:0", "/", escaped(f"/{target}"), "rw,noatime", *optional, "-", "ext3", escaped(source), "rw"]
    )
    (found,) = mounts.parsed(line)
    assert (found.target, found.source, found.kind) == (Path(f"/{target}"), source, "ext3")
    assert found.options == {"rw", "noatime"}


def test_a_mount_whose_directory_was_removed_is_found_under_its_old_name() -> None:
    (found,) = mounts.parsed("36 35 98:0 / /a/b//deleted rw - tmpfs tmpfs rw")
    assert found.target == Path("/a/b")


@given(st.text(alphabet="a) (\n", max_size=15), st.integers(1, 4_000_000), st.integers(0, 2**60))
def test_a_process_may_have_any_name(name: str, pid: int, start: int) -> None:
    fields = ["S", "7", "8", "9", *["0"] * 15, str(start), *["1"] * 30]
    found = processes.parsed(f"{pid} ({name}) {' '.join(fields)}\n")
    assert (found.pid, found.parent, found.session, found.start_time, found.state) == (pid, 7, 9, start, "S")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (REFUSAL, 'exec: "nosuch": executable file not found in $PATH'),
        ('time="x" level=warning msg=odd\ntime="x" level=error msg="no cgroup mount"', "no cgroup mount"),
        ('time="x" level=warning msg="only this"', "only this"),
        ("conmon: option parsing failed\n", "conmon: option parsing failed"),
        ("", "no reason given"),
        ('level=error msg="half \\x1b quoting"', "half \\x1b quoting"),
    ],
)
def test_refusals_are_in_runcs_own_words(said: str, words: str) -> None:
    assert readable(said) == words


@given(st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), parts), max_size=6))
def test_parts_become_the_lines_they_were(written: list[tuple[str, list[bytes]]]) -> None:
    raw = [
        f"{NOW} {stream} {'F' if number == len(parts) - 1 else 'P'} ".encode() + part
        for stream, parts in written
        for number, part in enumerate(parts)
    ]
    lines = [Line(NOW, stream, b"".join(parts)) for stream, parts in written]
    assert joined(raw) == lines


def joined(raw: list[bytes]) -> list[Line]:
    joiner = Joiner()
    return [line for one in raw if (line := joiner.add(one))] + joiner.begun()


def test_parts_of_two_streams_may_be_mixed() -> None:
    raw = [b"t stdout P a", b"t stderr F x", b"t stdout F b", b"half of a li", b"t stdout F "]
    assert [(line.stream, line.text) for line in joined(raw)] == [
        ("stderr", b"x"),
        ("stdout", b"ab"),
        ("stdout", b""),
    ]


def test_the_last_lines_are_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "log"
    texts = ["P a", "F b", "F c", "P d", "P e", "F f\r50%\r60%"]
    path.write_text("".join(f"{NOW} stdout {text}\n" for text in texts) + f"{NOW} stdout F unfini", newline="")
    assert [line.text for line in logs.read(path)] == [b"ab", b"c", b"def\r50%\r60%"]
    assert [line.text for line in logs.read(path, tail=1)] == [b"def\r50%\r60%"]
    assert [line.text for line in logs.read(path, tail=2)] == [b"c", b"def\r50%\r60%"]
    assert logs.read(path, tail=0) == []
    assert len(logs.read(path, tail=99)) == 3
    assert logs.last(path, lines=1) == "def\r50%\r60%"
    assert logs.read(tmp_path / "none") == []


def test_since_and_stamps(tmp_path: Path) -> None:
    path = tmp_path / "log"
    later = NOW.replace(":57.", ":58.")
    path.write_text(f"{NOW} stdout F old\n{later} stdout F new\n")
    old, new = logs.read(path)
    assert [line.text for line in logs.read(path, since=new.moment)] == [b"new"]
    assert old.stamped == b"2026-11-16T05:44:57.163630215Z old"
