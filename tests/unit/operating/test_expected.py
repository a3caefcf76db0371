"""Workers that were made and not shown yet."""

from __future__ import annotations

import asyncio

from tests.cluster.virtual_time import run

from penstock.operator.nodeset.expected import FORGOTTEN_AFTER, Expected

from .workers import pod


def test_what_was_made_is_expected_until_the_watch_shows_it() -> None:
    async def main() -> None:
        expected = Expected()
        expected.made("hpc", "n-0")
        expected.made("hpc", "n-1")
        expected.made("other", "n-2")
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
        expected.made("hpc", "n-0")
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
            expected.made("hpc", name)
        assert expected.among("hpc", "n-") == {"n-0", "n-1a2b3c4d"}

    run(main())
