"""What was seen once can be seen again: by its seed, by its words, and by the least that is left of it."""

from __future__ import annotations

import re

import pytest

from .command import sim
from .draw import FAMILY, schedule_of
from .schedule import read


@pytest.mark.parametrize("seed", [3, 404])
def test_a_seed_takes_the_same_steps_each_time(seed: int) -> None:
    once, again = (sim("--seed", str(seed), "--trace") for _ in range(2))
    steps = re.findall(r"(?m)^ +\d+\.\d{3}  .*", once[1])
    assert len(steps) > 10
    assert steps == re.findall(r"(?m)^ +\d+\.\d{3}  .*", again[1])


@pytest.mark.parametrize("seed", range(0, 1000, 37))
def test_a_schedule_outlives_being_written_down(seed: int) -> None:
    schedule = schedule_of(seed)
    assert read(schedule.text()) == schedule
    assert schedule.acts[-1].seed == seed
    assert len(schedule.acts) == seed % FAMILY + 1


def test_a_failing_schedule_is_cut_down_and_fails_when_it_is_played_again() -> None:
    """Whoever does not mind cordons needs one to be found out, and nothing else."""
    code, said = sim("--mutant", "deaf", "--count", "500")
    least = re.search(r"replay: python -m tests.sim --schedule '(.*)'", said)
    assert code == 1
    assert least is not None
    [act] = read(least[1]).acts
    assert [step.what for step in act.steps] in [["cordon a pod"], ["cordon a machine"]]
    assert sim("--schedule", least[1], "--mutant", "deaf")[0] == 1
    assert sim("--schedule", least[1])[0] == 0
