"""A rehearsal reads really, writes nothing, and tells what would be written in words that a person can read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from penstock.cluster.errors import AlreadyExists, NotFound, Refused
from penstock.cluster.port import Cluster, Preconditions, Propagation
from penstock.cluster.rehearsal import Rehearsal
from penstock.cluster.resources import Resource, Whole
from penstock.cluster.store import Store

from .every_verb import EVERY_VERB, NODE_SETS, PODS, named, node_set, prepared
from .virtual_time import run

MACHINES = Resource("", "v1", "nodes", "Node", Whole, namespaced=False)
Question = Callable[[Cluster], Awaitable[Any]]


def rehearsed(question: Question) -> list[str]:
    """What is told of a question, after which everything must be as before."""

    async def main() -> list[str]:
        store, told = await prepared(), list[str]()
        await store.create(MACHINES, {"metadata": {"name": "machine"}})
        before = await everything(store)
        try:
            await question(Rehearsal(store, told.append))
        finally:
            assert await everything(store) == before
        return told

    return run(main())


async def everything(store: Store) -> list[object]:
    """All that there is, and the last version given to any of it."""
    found = [await store.list(resource) for resource in (NODE_SETS, PODS, MACHINES)]
    return [*found, found[0].resource_version]


@pytest.mark.parametrize("verb", EVERY_VERB)
def test_reading_is_not_told_and_each_write_is_told_once(verb: str) -> None:
    told = rehearsed(EVERY_VERB[verb])
    assert len(told) == (0 if verb in {"get", "list", "watch", "logs"} else 1)


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ("create NodeSet test/new", lambda c: c.create(NODE_SETS, node_set("new"))),
        ("create Pod test/worker-…", lambda c: c.create(PODS, generated("worker-"))),
        ("apply NodeSet test/set", lambda c: c.apply(NODE_SETS, node_set("set", replicas=4))),
        ("apply Node machine", lambda c: c.apply(MACHINES, {"metadata": {"name": "machine"}})),
        ("apply status of NodeSet test/set", lambda c: c.apply_status(NODE_SETS, {"metadata": named("set")})),
        ("scale NodeSet test/set to 3", lambda c: c.scale(NODE_SETS, "set", 3, namespace="test")),
        ("delete Pod test/pod", lambda c: c.delete(PODS, "pod", namespace="test")),
        ("delete Node machine", lambda c: c.delete(MACHINES, "machine")),
        (
            "delete Pod test/pod (uid uid-1)",
            lambda c: c.delete(PODS, "pod", namespace="test", only_if=Preconditions(uid="uid-1")),
        ),
        (
            "delete NodeSet test/set (Orphan, grace 0 s)",
            lambda c: c.delete(NODE_SETS, "set", namespace="test", propagation=Propagation.ORPHAN, grace_seconds=0),
        ),
        ("evict Pod test/pod", lambda c: c.evict("pod", namespace="test")),
        (
            "patch Node machine (spec.unschedulable, metadata.labels.a)",
            lambda c: c.patch(
                MACHINES, "machine", {"spec": {"unschedulable": True}, "metadata": {"labels": {"a": None}}}
            ),
        ),
        (
            "patch status of Pod test/pod (status.phase)",
            lambda c: c.patch(PODS, "pod", {"status": {"phase": "secret"}}, namespace="test", subresource="status"),
        ),
    ],
)
def test_a_write_is_a_line(line: str, question: Question) -> None:
    assert rehearsed(question) == [line]


def generated(prefix: str) -> dict[str, Any]:
    """A pod whose name is to be made up."""
    return {"metadata": {"generateName": prefix, "namespace": "test"}, "spec": {"containers": [{"name": "main"}]}}


def test_what_would_be_made_is_as_the_server_would_make_it() -> None:
    async def main() -> None:
        rehearsal = Rehearsal(await prepared(), lambda _: None)
        made = await rehearsal.create(NODE_SETS, node_set("new"))
        assert (made.metadata.generation, made.spec["replicas"]) == (1, 1)
        applied = await rehearsal.apply(NODE_SETS, node_set("set", replicas=4))
        assert (applied.metadata.generation, applied.spec["replicas"]) == (2, 4)
        as_it_is = await rehearsal.patch(NODE_SETS, "set", {"spec": {"replicas": 9}}, namespace="test")
        assert as_it_is.spec["replicas"] == 1

    run(main())


def test_what_the_server_would_refuse_is_told_with_its_words_and_raised() -> None:
    async def main() -> list[str]:
        told: list[str] = []
        rehearsal = Rehearsal(await prepared(), told.append)
        with pytest.raises(AlreadyExists):
            await rehearsal.create(NODE_SETS, node_set("set"))
        with pytest.raises(Refused):
            await rehearsal.apply(NODE_SETS, node_set("set", replicas=-1))
        return told

    first, second = run(main())
    assert first.startswith("create NodeSet test/set: would fail: nodesets.slinky.slurm.net ")
    assert first.endswith("already exists")
    assert second.startswith("apply NodeSet test/set: would fail: ")


def test_what_was_only_made_in_the_rehearsal_is_not_there() -> None:
    async def main() -> None:
        rehearsal = Rehearsal(await prepared(), lambda _: None)
        await rehearsal.create(NODE_SETS, node_set("new"))
        with pytest.raises(NotFound):
            await rehearsal.patch(NODE_SETS, "new", {}, namespace="test")

    run(main())


def test_who_asks_for_a_dry_run_writes_nothing_that_could_be_told() -> None:
    assert rehearsed(lambda c: c.create(NODE_SETS, node_set("new"), dry_run=True)) == []
    assert rehearsed(lambda c: c.apply(NODE_SETS, node_set("set"), dry_run=True)) == []
