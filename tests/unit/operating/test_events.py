"""Events: told once, bounded, and never in the way of the work (NS-6)."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime

from tests.cluster.virtual_time import beside, run

from penstock.api.objects import Json
from penstock.cluster.errors import Refused
from penstock.cluster.events import Recorder
from penstock.cluster.port import MANAGER, T
from penstock.cluster.resources import Meta, Resource
from penstock.cluster.store import Store
from penstock.cluster.wrapper import Wrapper
from penstock.operator.resources import CUSTOMS, Custom

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
ITEM = Custom(metadata=Meta("n", "hpc", uid="uid-n", resource_version="7"))
NODE_SET = CUSTOMS["NodeSet"]


class Told(Wrapper):
    """A store that remembers which events came."""

    def __init__(self, *, refuses: str = "") -> None:
        super().__init__(Store())
        self.bodies: list[Json] = []
        self._refuses = refuses

    async def create(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, dry_run: bool = False) -> T:
        """Take an event."""
        if body["reason"] == self._refuses:
            raise Refused("not this one")
        self.bodies.append(body)
        return await super().create(resource, body, manager=manager, dry_run=dry_run)

    @property
    def notes(self) -> list[str]:
        """What they say."""
        return [body["note"] for body in self.bodies]


async def _sent() -> None:
    await asyncio.sleep(1)


def told(store: Told, tell: list[tuple[str, str]], *, pause: float = 0.0) -> list[str]:
    """The notes that arrive when these are told one after the other."""

    async def main() -> None:
        recorder = Recorder(store, instance="pod-1", now=lambda: NOON)

        async def telling() -> None:
            for reason, note in tell:
                recorder.normal(NODE_SET, ITEM, reason, note)
                await asyncio.sleep(pause)
            await _sent()

        await beside(recorder.run(), telling())

    run(main())
    return store.notes


def test_an_event_says_who_what_when_and_about_whom() -> None:
    store = Told()
    told(store, [("WorkerRemoved", "n-3: drained")])
    [body] = store.bodies
    assert re.fullmatch(r"n\.[0-9a-f]{16}", body["metadata"].pop("name"))
    assert body == {
        "metadata": {"namespace": "hpc"},
        "eventTime": "2026-11-16T12:00:00.000000Z",
        "type": "Normal",
        "reason": "WorkerRemoved",
        "action": "Worker",
        "note": "n-3: drained",
        "regarding": {
            "apiVersion": "slinky.slurm.net/v1beta1",
            "kind": "NodeSet",
            "name": "n",
            "namespace": "hpc",
            "uid": "uid-n",
            "resourceVersion": "7",
        },
        "reportingController": "penstock/nodeset",
        "reportingInstance": "pod-1",
    }


def test_the_same_words_about_the_same_object_are_told_once() -> None:
    assert told(Told(), [("A", "x"), ("A", "x"), ("A", "y"), ("B", "x"), ("A", "x")]) == ["x", "y", "x"]


def test_after_a_while_they_are_worth_telling_again() -> None:
    assert told(Told(), [("A", "x")] * 3, pause=400) == ["x", "x"]


def test_an_event_that_is_refused_is_no_obstacle() -> None:
    assert told(Told(refuses="Bad"), [("Bad", "x"), ("Good", "y")]) == ["y"]


def test_a_note_is_cut_to_what_the_api_server_takes() -> None:
    """It counts bytes, and a letter may be two of them."""
    [plain, umlauts] = told(Told(), [("A", "x" * 5000), ("A", "x" + "ü" * 5000)])
    assert len(plain) == 1024
    assert len(umlauts.encode()) in {1023, 1024}
    assert set(umlauts) == {"x", "ü"}


def test_too_many_events_are_dropped_and_not_taken_for_told() -> None:
    store = Told()

    async def main() -> None:
        recorder = Recorder(store, instance="pod-1")
        for number in range(1001):
            recorder.warning(NODE_SET, ITEM, "A", str(number))
        await beside(recorder.run(), _sent())
        assert len(store.bodies) == 1000
        recorder.warning(NODE_SET, ITEM, "A", "1000")
        await beside(recorder.run(), _sent())

    run(main())
    assert store.notes[-1] == "1000"
    assert {body["type"] for body in store.bodies} == {"Warning"}
