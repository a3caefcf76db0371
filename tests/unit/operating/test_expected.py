"""Workers that were made and not shown yet."""

from __future__ import annotations

import asyncio

import pytest
from tests.cluster.virtual_time import run

from penstock.operator.nodeset.expected import FORGOTTEN_AFTER, Expected

from .workers import pod


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
