"""The machine's own Debian archive, asked for another suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.images.archive import source_line

DEB822 = """\
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""


@pytest.fixture
def apt(tmp_path: Path) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    return tmp_path


def test_the_suite_is_exchanged_and_the_key_kept(apt: Path) -> None:
    (apt / "sources.list.d/debian.sources").write_text(DEB822)
    key = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
    assert source_line("forky", apt=apt) == f"deb {key} http://mirror.example/debian forky main"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("deb http://mirror.example/debian bookworm main contrib", "deb http://mirror.example/debian forky main"),
        (
            "deb [arch=amd64] http://a.example/debian/ x main # c",
            "deb [arch=amd64] http://a.example/debian/ forky main",
        ),
        ("# deb http://mirror.example/debian bookworm main", None),
        ("deb-src http://mirror.example/debian bookworm main", None),
        ("deb http://other.example/debian stable stable", None),
        ("deb http://mirror.example/ubuntu noble main", None),
    ],
)
def test_one_line_sources(line: str, found: str | None, apt: Path) -> None:
    (apt / "sources.list").write_text(f"{line}\n")
    assert source_line("forky", apt=apt) == found


@pytest.mark.parametrize("more", ["Enabled: no\n", "Types: deb-src\n"])
def test_a_source_that_is_off_does_not_count(more: str, apt: Path) -> None:
    stanza = DEB822.split("\n\n", 1)[0].replace("Types: deb\n", "") + "\n"
    (apt / "sources.list.d/x.sources").write_text(stanza + ("" if "Types" in more else "Types: deb\n") + more)
    assert source_line("forky", apt=apt) is None


def test_a_machine_without_sources(apt: Path) -> None:
    assert source_line("forky", apt=apt) is None
