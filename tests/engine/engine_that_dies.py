"""A process that makes a container and is killed in the midst of it: `python engine_that_dies.py DIRECTORY NAME`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.engine.containers import Lab


async def main(directory: str, name: str) -> None:
    """Make and start a container, say so, and stay."""
    it = Lab(Path(directory), name=name)
    print("begin", flush=True)
    running = await it.run("a", "sh", "-c", "echo alive; exec sleep 1000")
    print(running.pid, flush=True)
    await asyncio.sleep(1000)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
