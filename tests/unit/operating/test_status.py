"""Status: through its own door, only when it changed, and once for each change (NS-6)."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.cluster.errors import Conflict, Refused
from penstock.cluster.wrapper import Wrapper
from penstock.operator.conditions import Cause, Condition, broken, summary
from penstock.operator.resources import CUSTOMS
from penstock.operator.status import Statuses, stamp

from .scene import BEGINNING, PERSON, Scene, played

WELL = summary(ready=None, well="All is well.")
ILL = broken(Cause("Late", "It is late."))
FIELDS: dict[str, Any] = {"replicas": 2, "selector": "a=b", "nodeSetHash": "x"}


class Clock:
    """A clock that moves on with each glance."""

    def __init__(self) -> None:
        self.now = BEGINNING

    def __call__(self) -> datetime:
        """Later than before."""
        self.now += timedelta(minutes=1)
        return self.now


async def status(scene: Scene) -> Json:
    return (await scene.there("NodeSet", "n")).status


def since(told: Json) -> dict[str, str]:
    return {one["type"]: one["lastTransitionTime"] for one in told["conditions"]}


def test_a_time_is_written_as_kubernetes_reads_it() -> None:
    assert stamp(datetime(2026, 11, 16, 8, 0, 0, 999, tzinfo=UTC)) == "2026-11-16T08:00:00Z"
    assert stamp(datetime(2026, 11, 16, 8, tzinfo=timezone(timedelta(hours=2)))) == "2026-11-16T06:00:00Z"


@played
async def test_a_status_is_written_when_it_changed(scene: Scene) -> None:
    item, statuses = await scene.custom(), Statuses(scene.cluster, Clock())
    assert await statuses.write("NodeSet", item, WELL, **FIELDS)
    await scene.seen()
    told = await status(scene)
    assert {name: told[name] for name in FIELDS} == FIELDS
    assert [(one["type"], one["status"]) for one in told["conditions"]] == [
        ("Ready", "True"), ("Progressing", "False"), ("Degraded", "False"),
    ]  # fmt: skip
    assert {one["observedGeneration"] for one in told["conditions"]} == {1}
    assert not await statuses.write("NodeSet", scene.shown("NodeSet", "n"), WELL, **FIELDS)
    assert await statuses.write("NodeSet", scene.shown("NodeSet", "n"), WELL, **{**FIELDS, "replicas": 3})
    assert (await status(scene))["replicas"] == 3
    assert scene.calls["apply_status"] == 2


@played
async def test_who_remembers_nothing_reads_what_is_there(scene: Scene) -> None:
    """As after a restart."""
    item = await scene.custom()
    await Statuses(scene.cluster, Clock()).write("NodeSet", item, WELL, **FIELDS)
    await scene.seen()
    assert not await Statuses(scene.cluster, Clock()).write("NodeSet", scene.shown("NodeSet", "n"), WELL, **FIELDS)


@played
async def test_one_change_is_written_once_while_the_watch_is_behind(scene: Scene) -> None:
    """And the time of a condition stays that of its change."""
    item, statuses = await scene.custom(), Statuses(scene.cluster, Clock())
    await scene.behind()
    assert await statuses.write("NodeSet", item, WELL, **FIELDS)
    first = await status(scene)
    assert not await statuses.write("NodeSet", item, WELL, **FIELDS)
    assert await statuses.write("NodeSet", item, WELL, **{**FIELDS, "replicas": 9})
    assert since(await status(scene)) == since(first)
    assert await statuses.write("NodeSet", item, ILL, **FIELDS)
    assert not await statuses.write("NodeSet", item, ILL, **FIELDS)
    changed = since(await status(scene))
    assert changed["Progressing"] == since(first)["Progressing"]
    assert changed["Ready"] > since(first)["Ready"]
    await scene.seen()
    assert not await statuses.write("NodeSet", scene.shown("NodeSet", "n"), ILL, **FIELDS)
    assert scene.calls["apply_status"] == 3


@played
async def test_a_status_that_somebody_changed_is_put_right(scene: Scene) -> None:
    item, statuses = await scene.custom(), Statuses(scene.cluster, Clock())
    await statuses.write("NodeSet", item, WELL, **FIELDS)
    wrong = {"status": {"replicas": 99}}
    await scene.store.patch(CUSTOMS["NodeSet"], "n", wrong, namespace="hpc", subresource="status", manager=PERSON)
    await scene.seen()
    assert await statuses.write("NodeSet", scene.shown("NodeSet", "n"), WELL, **FIELDS)
    assert (await status(scene))["replicas"] == 2


@played
async def test_a_condition_of_somebody_else_stays_and_costs_nothing(scene: Scene) -> None:
    item, statuses = await scene.custom(), Statuses(scene.cluster, Clock())
    await statuses.write("NodeSet", item, WELL, **FIELDS)
    theirs = {
        "type": "Audited",
        "status": "True",
        "reason": "Seen",
        "message": "",
        "lastTransitionTime": "2026-11-16T08:00:00Z",
    }
    body = {"metadata": {"name": "n", "namespace": "hpc"}, "status": {"conditions": [theirs]}}
    await scene.store.apply_status(CUSTOMS["NodeSet"], body, manager="auditor")
    await scene.seen()
    assert not await statuses.write("NodeSet", scene.shown("NodeSet", "n"), WELL, **FIELDS)
    await statuses.write("NodeSet", scene.shown("NodeSet", "n"), ILL, **FIELDS)
    told = await status(scene)
    assert {one["type"]: one["status"] for one in told["conditions"]} == {
        "Ready": "False", "Progressing": "False", "Degraded": "True", "Audited": "True",
    }  # fmt: skip


@played
async def test_a_new_generation_is_told_though_nothing_else_changed(scene: Scene) -> None:
    item, statuses = await scene.custom(), Statuses(scene.cluster, Clock())
    await statuses.write("NodeSet", item, WELL, **FIELDS)
    before = since(await status(scene))
    await scene.edit("NodeSet", "n", spec={"replicas": 4})
    await scene.seen()
    assert await statuses.write("NodeSet", scene.shown("NodeSet", "n"), WELL, **FIELDS)
    told = await status(scene)
    assert {one["observedGeneration"] for one in told["conditions"]} == {2}
    assert since(told) == before


@played
async def test_the_status_of_an_object_that_is_gone_is_nobodys(scene: Scene) -> None:
    """Gone, or made anew under its name."""
    item, statuses = await scene.custom(), Statuses(scene.cluster, Clock())
    await scene.store.delete(CUSTOMS["NodeSet"], "n", namespace="hpc")
    assert not await statuses.write("NodeSet", item, WELL, **FIELDS)
    await scene.custom()
    assert not await statuses.write("NodeSet", item, WELL, **FIELDS)
    assert await status(scene) == {}


def somebody_was_faster(_verb: str, resource: str) -> AbstractAsyncContextManager[None]:
    raise Conflict(f"{resource}: the object has been modified")


@played
async def test_a_status_that_could_not_be_written_is_not_taken_for_written(scene: Scene) -> None:
    """Whoever asked tries again."""
    item = await scene.custom()
    with pytest.raises(Conflict):
        await Statuses(Wrapper(scene.store, somebody_was_faster), Clock()).write("NodeSet", item, WELL, **FIELDS)


@played
async def test_a_status_that_is_wrong_is_told_to_be(scene: Scene) -> None:
    item = await scene.custom()
    with pytest.raises(Refused):
        await Statuses(scene.cluster, Clock()).write("NodeSet", item, WELL, **{**FIELDS, "replicas": "many"})


@played
async def test_what_is_forgotten_is_read_again(scene: Scene) -> None:
    item, statuses = await scene.custom(), Statuses(scene.cluster, Clock())
    await scene.behind()
    await statuses.write("NodeSet", item, [Condition("Ready", None, "Unknown", "")], **FIELDS)
    statuses.forget(item.metadata.uid)
    assert await statuses.write("NodeSet", item, [Condition("Ready", None, "Unknown", "")], **FIELDS)


@played
async def test_what_the_watch_shows_late_is_not_taken_for_the_last_word(scene: Scene) -> None:
    """Well, ill, well again, while the watch has only come to the first of them (seed 51054)."""
    item, statuses = await scene.custom(), Statuses(scene.cluster, Clock())
    assert await statuses.write("NodeSet", item, WELL, **FIELDS)
    first = await scene.cluster.get(CUSTOMS["NodeSet"], "n", item.metadata.namespace)
    assert await statuses.write("NodeSet", item, ILL, **FIELDS)
    assert await statuses.write("NodeSet", first, WELL, **FIELDS)
    told = {one["type"]: one["status"] for one in (await status(scene))["conditions"]}
    assert told["Degraded"] == "False"
    last = await scene.cluster.get(CUSTOMS["NodeSet"], "n", item.metadata.namespace)
    assert not await statuses.write("NodeSet", last, WELL, **FIELDS)
