"""The promises of `books.Promise` hold under random people and random weather (NS-3 to NS-8, ST-3, PT-5).

`PENSTOCK_SIM` is how many schedules are played, `PENSTOCK_SEED` the first of them.
"""

from __future__ import annotations

import os
import re

import pytest

from .command import sim

SCHEDULES = int(os.environ.get("PENSTOCK_SIM", "20000"))
FIRST = int(os.environ.get("PENSTOCK_SEED", "0"))
HAPPENS = {
    "scale-ins": 100, "updates": 20, "drains by the operator": 200, "drains by a person": 50, "cordon a pod": 50,
    "cordon a machine": 20, "crashes": 30, "answers of slurmrestd are lost": 20, "the request is lost": 5,
    "the answer is lost": 5, "workers deleted by the operator": 200,
    "claims deleted": 20, "NodeSets deleted": 10, "slurmctld is killed": 10, "watches are silent": 10, "jobs warned": 1,
    "the leader is cut off": 1, "delete a pod": 50, "delete a machine": 20, "change the policy": 50,
    "slurmrestd is away": 30, "slurmrestd is slow": 20, "somebody was faster": 2,
}  # fmt: skip
"""What a thousand schedules are worth their name for, and how often it is seen at the least; mostly it is far more."""


@pytest.fixture(scope="module")
def played() -> tuple[int, str]:
    code, said = sim("--count", str(SCHEDULES), "--first", str(FIRST))
    print(said)
    return code, said


def test_every_promise_is_kept(played: tuple[int, str]) -> None:
    code, said = played
    assert code == 0, said
    assert f"{SCHEDULES} schedules" in said


@pytest.mark.skipif(SCHEDULES < 2000, reason="in a few schedules not everything happens")
def test_what_should_be_tried_really_happens(played: tuple[int, str]) -> None:
    counted = {name: float(often) for often, name in re.findall(r"(?m)^ +([\d.]+)  (.+)$", played[1])}
    seldom = {name: counted.get(name, 0.0) for name, least in HAPPENS.items() if counted.get(name, 0.0) < least}
    assert not seldom
