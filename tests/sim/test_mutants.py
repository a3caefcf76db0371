"""The promises bite: operators that are broken on purpose are found out, and by the right one."""

from __future__ import annotations

import re

import pytest

from .books import Promise
from .command import sim
from .draw import BLOCK, cluster_of
from .mutants import MUTANTS

ENOUGH = 1500
"""Schedules in which a mistake must have been found; most are within a few dozen."""
RIVALS = next(block for block in range(1000) if cluster_of(block).leaders > 1) * BLOCK
"""The first seed of a cluster with two operators: most have one."""

RARE = {
    "hasty": 5000, "credulous": 3600, "rash": 8100, "abrupt": 1800, "unaware": 4600, "dozing": 8000, "unheeding": 66180,
    "pushing": 500900,
}  # fmt: skip
"""Where to begin for mistakes that seldom show: they need what people do seldom, or Slurm was asked before, too."""


@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_to_be_broken_is_there(name: str) -> None:
    """A function that was moved or renamed would leave the mutant sound, and its test red for no reason."""
    owner, attribute = MUTANTS[name].found()
    assert attribute in owner.__dict__


@pytest.mark.parametrize("promise", Promise)
def test_every_promise_is_broken_by_somebody_who_breaks_no_other(promise: Promise) -> None:
    """A promise that nobody is known to break may be one that nobody looks after."""
    assert any(one.breaks == {promise} for one in MUTANTS.values())


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found_out(name: str) -> None:
    first = RARE.get(name, RIVALS if Promise.LEADER in MUTANTS[name].breaks else 0)
    code, said = sim("--mutant", name, "--first", str(first), "--count", str(ENOUGH), "--unshrunk")
    print(said)
    assert code == 1, f"{MUTANTS[name].what}: nobody noticed"
    broken = re.search(r"breaks a promise:\n  (\w+):", said)
    assert broken is not None
    assert broken[1] in {promise.name for promise in MUTANTS[name].breaks}
