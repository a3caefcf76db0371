"""Processes that are not our children: awaited, signalled, never mistaken."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engine import processes
from penstock.engine.processes import Identity
from tests.engine.containers import until


@pytest.fixture
def orphan() -> Iterator[Identity]:
    """A process that is not ours: its parent has ended."""
    script = "sleep 300 >/dev/null 2>&1 & echo $!"
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True, text=True)
    found = processes.identify(int(done.stdout))
    assert found is not None
    yield found
    processes.send(found, signal.SIGKILL)


def test_the_end_of_a_stranger_is_awaited_by_many(orphan: Identity) -> None:
    async def story() -> None:
        waiting = [asyncio.create_task(processes.ended(orphan)) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert not any(one.done() for one in waiting)
        assert processes.send(orphan, signal.SIGTERM)
        async with asyncio.timeout(5):
            await asyncio.gather(*waiting)
            await processes.ended(orphan)
        assert not processes.is_alive(orphan)
        assert not processes.send(orphan, signal.SIGTERM)

    asyncio.run(story())


def test_another_process_of_the_same_number_is_left_alone(orphan: Identity) -> None:
    earlier = Identity(orphan.pid, orphan.start_time - 1)
    assert not processes.is_alive(earlier)
    assert not processes.send(earlier, signal.SIGKILL)
    assert processes.command_line(earlier) == []
    asyncio.run(asyncio.wait_for(processes.ended(earlier), 5))
    assert processes.is_alive(orphan)
    assert processes.command_line(orphan) == ["sleep", "300"]


def test_a_number_that_is_a_threads_by_now_is_nobodys() -> None:
    """The kernel gives numbers of processes that have ended to threads, too, and opens no descriptor for those."""
    told = threading.Event()
    thread = threading.Thread(target=told.wait)
    thread.start()
    try:
        assert thread.native_id is not None
        gone = Identity(thread.native_id, 1)
        assert not processes.is_alive(gone)
        assert not processes.send(gone, signal.SIGKILL)
        asyncio.run(asyncio.wait_for(processes.ended(gone), 5))
    finally:
        told.set()
        thread.join()


def test_a_zombie_has_ended() -> None:
    child = subprocess.Popen(["true"])
    asyncio.run(until(lambda: not processes.identify(child.pid)))
    assert processes.identify(child.pid) is None
    child.wait()


def test_nobody_has_number_zero() -> None:
    nobody = Identity(0, 0)
    assert not processes.is_alive(nobody)
    assert not processes.send(nobody, signal.SIGKILL)
    asyncio.run(asyncio.wait_for(processes.ended(nobody), 5))


def test_a_cancelled_wait_leaves_no_descriptor(orphan: Identity) -> None:
    async def story() -> None:
        waiting = asyncio.create_task(processes.ended(orphan))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    before = len(list(Path("/proc/self/fd").iterdir()))
    asyncio.run(story())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_family_is_ended_also_who_left_home() -> None:
    script = "setsid sleep 301 & sh -c 'sleep 302 & sleep 303' & echo ready; wait"
    root = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    assert root.stdout is not None
    root.stdout.readline()
    identity = processes.identify(root.pid)
    assert identity is not None
    members: list[Identity] = []
    while len(members) < 5:
        members = processes.family(identity)
    processes.end_family(identity)
    root.wait()
    root.stdout.close()
    asyncio.run(asyncio.wait_for(_all_gone(members), 5))
    processes.end_family(identity)


async def _all_gone(members: list[Identity]) -> None:
    await asyncio.gather(*(processes.ended(one) for one in members))
