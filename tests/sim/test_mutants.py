"""The promises bite: operators that are broken on purpose are found out, and by the right one."""

from __future__ import annotations

import re

import pytest

from .command import sim
from .mutants import MUTANTS

ENOUGH = 1500
"""Schedules in which a mistake must have been found; most are within a few dozen."""


@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_to_be_broken_is_there(name: str) -> None:
    """A function that was moved or renamed would leave the mutant sound, and its test red for no reason."""
    owner, attribute = MUTANTS[name].found()
    assert attribute in owner.__dict__


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found_out(name: str) -> None:
    code, said = sim("--mutant", name, "--count", str(ENOUGH), "--unshrunk")
    print(said)
    assert code == 1, f"{MUTANTS[name].what}: nobody noticed"
    broken = re.search(r"breaks a promise:\n  (\w+):", said)
    assert broken is not None
    assert broken[1] in {promise.name for promise in MUTANTS[name].breaks}
