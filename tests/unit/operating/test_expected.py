"""Workers that were made, or deleted, and not shown as such yet."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cluster.virtual_time import run

from penstock.cluster.errors import Conflict, NotFound, Unreachable
from penstock.cluster.store import Store
from penstock.operator.nodeset.expected import FORGOTTEN_AFTER, Expected
from penstock.operator.resources import PODS, Pod

from .workers import pod

SPEC = {"containers": [{"name": "slurmd", "image": "slurmd"}]}


def make(expected: Expected, namespace: str, name: str) -> None:
    with expected.making(namespace, name):
        pass


def test_what_the_watch_shows_before_the_answer_is_not_expected_afterwards() -> None:
    """It is often faster; a worker lost right after its making would not be missed for half a minute."""

    async def main() -> None:
        expected = Expected()
        with expected.making("hpc", "n-0"):
            assert expected.among("hpc", "n-") == {"n-0"}
            expected.shown(None, pod("n-0"))
        assert expected.among("hpc", "n-") == set()

    run(main())


def test_what_could_not_be_made_is_not_expected() -> None:
    async def main() -> None:
        expected = Expected()
        with pytest.raises(TimeoutError), expected.making("hpc", "n-0"):
            raise TimeoutError
        assert expected.among("hpc", "n-") == set()

    run(main())


def test_what_was_made_is_expected_until_the_watch_shows_it() -> None:
    async def main() -> None:
        expected = Expected()
        make(expected, "hpc", "n-0")
        make(expected, "hpc", "n-1")
        make(expected, "other", "n-2")
        assert expected.among("hpc", "n-") == {"n-0", "n-1"}
        expected.shown(None, pod("n-0"))
        assert expected.among("hpc", "n-") == {"n-1"}
        expected.shown(pod("n-1"), None)
        assert expected.among("hpc", "n-") == set()
        assert expected.among("other", "n-") == {"n-2"}

    run(main())


def test_what_is_never_shown_is_forgotten_in_time() -> None:
    async def main() -> None:
        expected = Expected()
        make(expected, "hpc", "n-0")
        await asyncio.sleep(FORGOTTEN_AFTER - 1)
        assert expected.among("hpc", "n-") == {"n-0"}
        await asyncio.sleep(2)
        assert expected.among("hpc", "n-") == set()

    run(main())


def test_workers_of_a_set_with_a_longer_name_are_not_ours() -> None:
    """Else a set `n` would wait for the workers of a set `n-gpu`."""

    async def main() -> None:
        expected = Expected()
        for name in ("n-0", "n-1a2b3c4d", "n-gpu-0", "n-1-0"):
            make(expected, "hpc", name)
        assert expected.among("hpc", "n-") == {"n-0", "n-1a2b3c4d"}

    run(main())


def test_who_was_told_to_go_is_gone_until_the_watch_says_so() -> None:
    """However late it is: a look that took it for one that stays would take another one away (seeds 120294, 122002)."""

    async def main() -> None:
        expected, before = Expected(), pod("n-0")
        with expected.removing(before, lambda: before):
            assert expected.gone() == {before.metadata.uid}
        await asyncio.sleep(100 * FORGOTTEN_AFTER)
        expected.shown(before, before)
        assert expected.gone() == {before.metadata.uid}
        expected.shown(before, pod("n-0", going=True))
        assert expected.gone() == set()

    run(main())


def test_who_is_gone_or_has_a_successor_is_known_to_be_gone() -> None:
    async def main() -> None:
        expected, first = Expected(), pod("n-0")
        second = replace(first, metadata=replace(first.metadata, uid="another"))
        for shown in (None, second):
            with expected.removing(first, lambda: first):
                pass
            expected.shown(first, shown)
            assert expected.gone() == set()

    run(main())


def test_who_changed_before_it_could_be_told_stays() -> None:
    async def main() -> None:
        expected, worker = Expected(), pod("n-0")
        with pytest.raises(Conflict), expected.removing(worker, lambda: worker):
            raise Conflict("it changed")
        assert expected.gone() == set()
        with pytest.raises(NotFound), expected.removing(worker, lambda: worker):
            raise NotFound("it is gone")
        assert expected.gone() == {worker.metadata.uid}

    run(main())


def test_whose_end_the_watch_had_shown_before_we_asked_is_not_kept_in_mind() -> None:
    """Nobody would ever show it again."""

    async def main() -> None:
        expected, worker = Expected(), pod("n-0")
        successor = replace(worker, metadata=replace(worker.metadata, uid="another"))
        for there in (None, pod("n-0", going=True), successor):
            with expected.removing(worker, lambda there=there: there):  # type: ignore[misc]
                pass
            assert expected.gone() == set()
            with pytest.raises(NotFound), expected.removing(worker, lambda there=there: there):  # type: ignore[misc]
                raise NotFound("it is gone")
            assert expected.gone() == set()

    run(main())


async def told_without_an_answer(store: Store, *, heard: bool) -> tuple[Expected, Pod]:
    """A worker of a cluster that was told to go, and nobody knows whether it was heard."""
    expected = Expected()
    body = {"metadata": {"name": "n-0", "namespace": "hpc", "finalizers": ["penstock.test/stays"]}, "spec": SPEC}
    worker = await store.create(PODS, body)
    if heard:
        await store.delete(PODS, "n-0", namespace="hpc")
    with pytest.raises(TimeoutError), expected.removing(worker, lambda: worker):
        raise TimeoutError
    return expected, worker


def test_who_did_not_hear_it_stays_and_is_told_again() -> None:
    """Until it is known, nobody takes it for one that stays (seed 86514)."""

    async def main() -> None:
        store = Store()
        expected, worker = await told_without_an_answer(store, heard=False)
        assert expected.gone() == {worker.metadata.uid}
        await expected.settle(store)
        assert expected.gone() == set()

    run(main())


def test_who_heard_it_is_gone_however_late_the_watch_is() -> None:
    async def main() -> None:
        store = Store()
        expected, worker = await told_without_an_answer(store, heard=True)
        await asyncio.sleep(100 * FORGOTTEN_AFTER)
        await expected.settle(store)
        assert expected.gone() == {worker.metadata.uid}
        expected.shown(worker, None)
        assert expected.gone() == set()

    run(main())


def test_a_cluster_that_does_not_answer_leaves_the_doubt() -> None:
    class Away(Store):
        async def get(self, *_: object, **__: object) -> Any:
            raise Unreachable("nobody there")

    async def main() -> None:
        store = Away()
        expected, worker = await told_without_an_answer(store, heard=False)
        with pytest.raises(Unreachable):
            await expected.settle(store)
        assert expected.gone() == {worker.metadata.uid}

    run(main())
