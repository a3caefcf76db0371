"""How long a container takes: made and started, a command run in it, ended and removed."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.engine.containers import lab


async def measure(count: int) -> dict[str, float]:
    """Medians in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="pb-") as name:
        async with lab(Path(name)) as it:
            made = await _each(count, lambda number: it.run(f"c{number}", "sleep", "1000"))
            executed = await _each(count, lambda _: it.runtime.execute("c0", ["true"], timeout=10))
            removed = await _each(count, lambda number: it.delete(f"c{number}"))
    return {"create + start": made, "exec": executed, "end + remove": removed}


async def _each(count: int, work: Callable[[int], Awaitable[object]]) -> float:
    taken = []
    for number in range(count):
        began = time.perf_counter()
        await work(number)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


def run(count: int) -> dict[str, float]:
    """The same, for who is not in a loop."""
    return asyncio.run(measure(count))
