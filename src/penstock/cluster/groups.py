"""Tasks that belong together.

Before Python 3.13 a task that waits at the end of asyncio's group for one that fails counts as cancelled ever after,
though it goes on. With Debian 12's Python, 3.11.2, every timeout in such a task is then taken for its cancellation: it
ends without a word, and with it whatever it looked after.
"""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType


class TaskGroup(asyncio.TaskGroup):
    """asyncio's, which takes back what it asked of the task that waits."""

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for all of them."""
        asked_before: bool = self._parent_cancel_requested  # type: ignore[attr-defined]
        try:
            await super().__aexit__(kind, problem, trace)
        finally:
            asked: bool = self._parent_cancel_requested  # type: ignore[attr-defined]
            if asked and not asked_before and sys.version_info < (3, 13):
                _present().uncancel()


def _present() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - groups are for tasks
    return task
