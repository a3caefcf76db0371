"""A process that waits for a word: what it hears, and what it makes of an end without one."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from penstock.machine import held


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("go\n", []),
        ("go --ssh-port 2222 --rest-port 6820\n", ["--ssh-port", "2222", "--rest-port", "6820"]),
        ("", None),
        ("\n", None),
        ("stop\n", None),
    ],
)
def test_only_the_word_lets_it_go_on(monkeypatch: pytest.MonkeyPatch, said: str, heard: list[str] | None) -> None:
    monkeypatch.setattr(held, "sys", SimpleNamespace(stdin=io.StringIO(said)))
    assert held.awaited() == heard
