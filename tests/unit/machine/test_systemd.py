"""A unit says what was meant, whatever paths are called."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from penstock.engine.layout import Layout
from penstock.machine.ports import Ports
from penstock.machine.systemd import unit

LAYOUT = Layout(cluster="lab", state=Path("/state"), run=Path("/run"))


def read(text: str, key: str, *, variables: bool) -> list[list[str]]:
    """The words of each line of a key, as systemd.syntax(7) and systemd.service(5) have them read."""
    lines = [line.removeprefix(f"{key}=") for line in text.splitlines() if line.startswith(f"{key}=")]
    found = [[word.replace("%%", "%") for word in shlex.split(line)] for line in lines]
    return [[word.replace("$$", "$") for word in words] for words in found] if variables else found


@pytest.mark.parametrize("place", ["/plain/place", "/with a space", "/100%u", "/$HOME", '/a"b', "/a\\b", "/it's"])
def test_a_place_is_read_back_as_it_was(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_STATE", place)
    monkeypatch.setattr(sys, "executable", f"{place}/python3")
    text = unit(LAYOUT, Ports(2222, 6820))
    assert [f"PENSTOCK_STATE={place}"] in read(text, "Environment", variables=False)
    [words] = read(text, "ExecStart", variables=True)
    assert words[:4] == [f"{place}/python3", "-m", "penstock", "serve"]


def test_no_specifier_and_no_variable_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands alone systemd would replace by something else."""
    monkeypatch.setenv("PENSTOCK_STATE", "/%h/$x")
    monkeypatch.setattr(sys, "executable", "/%h/$x")
    text = unit(LAYOUT, Ports(1, 2))
    assert "Environment=PENSTOCK_STATE=/%%h/$x\n" in text
    assert re.search(r"^ExecStart=/%%h/\$\$x -m penstock serve --cluster lab ", text, re.MULTILINE)
