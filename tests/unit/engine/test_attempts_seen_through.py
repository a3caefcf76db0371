"""What has been begun is seen through, however often somebody says stop."""

from __future__ import annotations

import asyncio

import pytest

from penstock.engine.threads import finished


def test_what_is_begun_ends_before_who_began_it_however_often_that_one_is_cancelled() -> None:
    """A TaskGroup that ends cancels again who was cancelled already."""

    async def main() -> None:
        go, made = asyncio.Event(), []

        async def make() -> None:
            await go.wait()
            made.append("it")

        making = asyncio.create_task(finished(make()))
        for _ in range(3):
            await asyncio.sleep(0)
            making.cancel()
        await asyncio.sleep(0)
        assert not making.done()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await making
        assert made == ["it"]

    asyncio.run(main())


def test_nobody_complains_of_a_failure_that_nobody_asks_for() -> None:
    """Python warns of errors that were never looked at, and warnings are errors here."""

    async def main() -> None:
        async def fail() -> None:
            await asyncio.sleep(0)
            raise ValueError("no")

        making = asyncio.create_task(finished(fail()))
        await asyncio.sleep(0)
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
        with pytest.raises(ValueError, match="no"):
            await finished(fail())

    asyncio.run(main())
