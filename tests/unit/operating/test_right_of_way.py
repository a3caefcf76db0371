"""Who gives nodes back and who deletes their workers never touch one node at a time (NS-3)."""

from __future__ import annotations

import asyncio

import pytest
from tests.simulation.loop import simulated

from penstock.operator.right_of_way import RightOfWay
from penstock.slurm.rest.errors import SlurmSilent


@simulated
async def test_a_node_whose_worker_is_about_to_go_is_not_given_back() -> None:
    way = RightOfWay()
    assert way.take({"a", "b"}) == {"a", "b"}
    with way.give_back({"b", "c"}) as free:
        assert free == {"c"}
    assert way.take({"b"}) == {"b"}, "whoever deletes may try again"


@simulated
async def test_a_node_that_is_about_to_be_given_back_keeps_its_worker() -> None:
    way = RightOfWay()
    with way.give_back({"a"}):
        assert way.take({"a", "b"}) == {"b"}
        with way.give_back({"a"}) as free:
            assert free == frozenset()
    assert way.take({"a"}) == {"a"}


@simulated
async def test_who_stays_after_all_can_be_given_back_in_time() -> None:
    way = RightOfWay()
    way.take({"a"})
    await asyncio.sleep(61)
    with way.give_back({"a"}) as free:
        assert free == {"a"}


@simulated
async def test_an_order_that_slurm_did_not_answer_may_come_late() -> None:
    """However long Slurm is silent: it counts from when it is heard again."""
    way = RightOfWay()
    with pytest.raises(SlurmSilent), way.give_back({"a"}):
        raise SlurmSilent("no answer")
    await asyncio.sleep(300)
    way.heard()
    assert way.take({"a", "b"}) == {"b"}
    await asyncio.sleep(9)
    way.heard()
    assert way.take({"a"}) == frozenset()
    await asyncio.sleep(2)
    way.heard()
    assert way.take({"a"}) == {"a"}
