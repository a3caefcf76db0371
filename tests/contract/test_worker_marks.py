"""Marks on workers, written as the operator writes them: beside what kubelet and people write, and over nobody."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.cluster.errors import Conflict
from penstock.cluster.port import Cluster
from penstock.operator.nodeset.drains import MARK, SCALE_IN
from penstock.operator.nodeset.marking import Marking
from penstock.operator.nodeset.marks import DRAINED_BY
from penstock.operator.nodeset.snapshot import REGISTERED, Snapshot
from penstock.operator.resources import PODS as WORKERS
from penstock.render import labels
from penstock.slurm.rest.messages import NodeReport
from tests.unit.rendering.builders import node_set

from .test_status_and_scale import condition
from .world import PODS, World, contract

LATER = datetime(2026, 11, 16, 8, tzinfo=UTC)
EARLIER = "2026-11-15T08:00:00Z"
OTHER_OPERATOR = "slurm-operator"


async def made(world: World) -> None:
    """A worker that kubelet has spoken of, and somebody else."""
    await world.cluster.create(
        PODS, world.pod("n-0", node="m", labels={"their": "label"}, annotations={"their": "note"})
    )
    status = {"conditions": [condition("Ready"), condition("Initialized")]}
    await world.cluster.patch(
        PODS, "n-0", {"status": status}, namespace=world.namespace, subresource="status", manager="kubelet"
    )


async def marked(world: World, *state: str, reason: str = "", by: Marking | None = None) -> Any:
    """The worker after a look at it, while Slurm reports its node so; without a state Slurm does not know it."""
    worker = await world.cluster.get(WORKERS, "n-0", world.namespace)
    report = NodeReport(name="n-0", state=state, reason=reason, extra=MARK)
    now = Snapshot(node_set=node_set("n"), pods=[worker], slurm={"n-0": report} if state else {})
    assert not await (by or Marking(world.cluster, lambda: LATER)).mark(now)
    return await world.get(PODS, "n-0")


def told(pod: Any) -> dict[str, tuple[str, str]]:
    """Its conditions: message and time."""
    return {
        one["type"]: (one.get("message", ""), one["lastTransitionTime"]) for one in pod.status.get("conditions") or []
    }


KUBELET = {"Ready": ("", EARLIER), "Initialized": ("", EARLIER)}
STAMP = "2026-11-16T08:00:00Z"
KNOWN = {**KUBELET, REGISTERED: ("", STAMP)}
"""And what stays of ours, once Slurm has known the node."""


@contract
async def test_a_worker_says_what_slurm_says(world: World) -> None:
    await made(world)
    pod = await marked(world, "ALLOCATED", "DRAIN", reason=SCALE_IN)
    ours = {"SlurmNodeStateAllocated": (SCALE_IN, STAMP), "SlurmNodeStateDrain": (SCALE_IN, STAMP)}
    assert told(pod) == KNOWN | ours
    assert pod.metadata.labels == {"their": "label", labels.POD_PROTECT: "true"}
    assert pod.metadata.annotations == {"their": "note", DRAINED_BY: SCALE_IN}


@contract
async def test_what_no_longer_applies_goes_and_what_others_said_stays(world: World) -> None:
    await made(world)
    await marked(world, "ALLOCATED", "DRAIN", reason=SCALE_IN)
    pod = await marked(world, "IDLE")
    assert told(pod) == KNOWN | {"SlurmNodeStateIdle": ("", STAMP)}
    assert pod.metadata.labels == {"their": "label"}
    assert pod.metadata.annotations == {"their": "note"}
    assert told(await marked(world)) == KNOWN


@contract
async def test_kubelet_goes_on_telling_beside_us(world: World) -> None:
    await made(world)
    await marked(world, "IDLE")
    body = {"metadata": world.named("n-0"), "status": {"conditions": [condition("Ready", "False")]}}
    pod = await world.cluster.apply_status(PODS, body, manager="kubelet-too")
    assert {one["type"]: one["status"] for one in pod.status["conditions"]} == {
        "Ready": "False", "Initialized": "True", "SlurmNodeStateIdle": "True", REGISTERED: "True",
    }  # fmt: skip


@contract
async def test_a_state_that_lasts_keeps_its_time(world: World) -> None:
    await made(world)
    body = {"metadata": world.named("n-0"), "status": {"conditions": [condition("SlurmNodeStateMixed")]}}
    await world.cluster.apply_status(PODS, body)
    pod = await marked(world, "MIXED", "COMPLETING", reason="new words")
    assert told(pod) == KNOWN | {
        "SlurmNodeStateMixed": ("new words", EARLIER),
        "SlurmNodeStateCompleting": ("new words", STAMP),
    }


@contract
async def test_what_the_operator_before_us_said_goes_too(world: World) -> None:
    """Server-side apply leaves to others what is theirs, and these conditions are nobody's any more."""
    await made(world)
    stale = [condition("SlurmNodeStateIdle"), condition("SlurmNodeStateDrain")]
    there = await world.get(PODS, "n-0")
    patch = {"status": {"conditions": [*there.status["conditions"], *stale]}}
    await world.cluster.patch(
        PODS, "n-0", patch, namespace=world.namespace, subresource="status", manager=OTHER_OPERATOR
    )
    pod = await marked(world, "MIXED")
    assert told(pod) == KNOWN | {"SlurmNodeStateMixed": ("", STAMP)}


@contract
async def test_a_worker_that_says_all_that_is_not_written_again(world: World) -> None:
    await made(world)
    pod = await marked(world, "IDLE", reason="some words")
    assert await marked(world, "IDLE", reason="some words") == pod


@contract
async def test_another_pod_that_took_the_name_is_left_alone(world: World) -> None:
    await made(world)
    old = await world.cluster.get(WORKERS, "n-0", world.namespace)
    await world.cluster.delete(PODS, "n-0", namespace=world.namespace, grace_seconds=0)
    new = await world.cluster.create(PODS, world.pod("n-0", node="m"))
    await looked_at(world.cluster, old)
    assert await world.get(PODS, "n-0") == new
    await world.cluster.delete(PODS, "n-0", namespace=world.namespace, grace_seconds=0)
    await looked_at(world.cluster, old)
    assert await world.is_gone(PODS, "n-0")


async def looked_at(cluster: Cluster, old: Any) -> None:
    """Have a pod marked as the watch showed it: label and conditions, then conditions alone."""
    for state in ("MIXED", "IDLE"):
        report = NodeReport(name="n-0", state=(state,))
        await Marking(cluster, lambda: LATER).mark(Snapshot(node_set=node_set("n"), pods=[old], slurm={"n-0": report}))


@contract
async def test_a_list_of_conditions_is_replaced_only_as_it_was_read(world: World) -> None:
    await made(world)
    read = await world.get(PODS, "n-0")
    await marked(world, "IDLE")
    patch = {"metadata": {"resourceVersion": read.metadata.resource_version}, "status": {"conditions": []}}
    with pytest.raises(Conflict):
        await world.cluster.patch(PODS, "n-0", patch, namespace=world.namespace, subresource="status")
