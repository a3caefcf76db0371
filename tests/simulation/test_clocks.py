"""The wall clock of the operator is wrong by hours: it does nothing for that which it would not do otherwise.

Election and real clocks are in `tests/kube/test_operator_clocks.py`; here is what is compared with times of others.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from penstock.operator.resources import PODS

from .loop import now, simulated
from .manifests import NAMESPACE, NODE_SET
from .port import LEASE
from .test_key_rotation import NEW, OLD, WHOLE, reach, ring, rings_until, wish, written
from .world import cluster

jumps = pytest.mark.parametrize("hours", [6, -6], ids=["ahead", "behind"])


@jumps
@simulated
async def test_a_jump_deletes_no_worker_lists_nothing_and_workers_still_come(hours: int) -> None:
    """A token may be signed anew, for its time is up by that clock, and statuses tell what Slurm says; no more."""
    async with cluster(replicas=3) as (here, operator):
        here.slurm.submit(3, 1000)
        before, since = {pod.metadata.uid for pod in here.sight.workers()}, now()
        here.operators_ahead = timedelta(hours=hours)
        await asyncio.sleep(300)
        told = ("pods", "events.events.k8s.io", "nodesets.slinky.slurm.net")
        assert operator.port.writes(since, besides=("secrets", "tokens.slinky.slurm.net", *told, LEASE)) == []
        assert operator.port.counted(since)["delete", "pods"] == 0
        assert not [call for call in operator.port.counted(since) if call[0] == "list"]
        await here.scale(5)
        await here.until(lambda: len(here.sight.workers()) == 5, within=10)
        assert before < {pod.metadata.uid for pod in here.sight.workers()}
        assert operator.port.counted()["delete", "pods"] == 0


@simulated
async def test_by_a_clock_that_is_behind_slurm_is_not_understood_and_no_worker_goes() -> None:
    """Tokens of hours ago are worth nothing: Slurm refuses them, and what it does not say is not known."""
    async with cluster(replicas=3) as (here, _):
        here.operators_ahead = timedelta(hours=-6)
        await asyncio.sleep(60)
        await here.scale(1)
        await asyncio.sleep(120)
        assert len(here.sight.workers()) == 3
        assert here.sight.condition("NodeSet", NODE_SET, "Degraded")["reason"] == "SlurmUnknown"
        here.operators_ahead = timedelta()
        await here.until(lambda: len(here.sight.workers()) == 1, within=60)


@jumps
@simulated
async def test_a_worker_that_has_ended_is_replaced_whatever_the_clock_says(hours: int) -> None:
    async with cluster() as (here, _):
        here.operators_ahead = timedelta(hours=hours)
        before = here.sight("Pod", f"{NODE_SET}-1").metadata.uid
        failed = {"status": {"phase": "Failed", "conditions": []}}
        await here.store.patch(
            PODS, f"{NODE_SET}-1", failed, namespace=NAMESPACE, subresource="status", manager="kubelet"
        )
        await here.until(lambda: {pod.metadata.uid for pod in here.sight.workers()}.isdisjoint({before}), within=60)


@jumps
@simulated
async def test_who_was_away_when_a_ring_was_written_is_told_again_whatever_the_clock_says(hours: int) -> None:
    """A worker that missed a step would be cut off by the one after it."""
    async with cluster() as (here, _):
        here.operators_ahead = timedelta(hours=hours)
        worker = f"{NODE_SET}-1"
        await reach(here, [worker], ready=False)
        await wish(here, NEW)
        await asyncio.sleep(WHOLE)
        assert written(here) == ring(OLD, NEW)
        await reach(here, [worker], ready=True)
        await rings_until(here, ring(NEW))
        assert not here.keys.misunderstandings
