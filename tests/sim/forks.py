"""Many schedules, each family of them in a process of its own.

A block of seeds shares a cluster: one process brings it up, and then a copy of that process, which costs a few
milliseconds, plays each family. So nothing that one does reaches another, and a hundred bring-ups are one.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import resource
import selectors
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tests.simulation.loop import Endless, SimulatedLoop

from . import trace
from .books import Promise
from .draw import BLOCK, FAMILY, act_of, cluster_of
from .mutants import Mutant
from .play import Outcome, play_act
from .schedule import Act, Cluster, Schedule
from .stage import Stage, host
from .trace import Tell

_Staged = tuple[SimulatedLoop, Stage, "asyncio.Task[None]"]
_CPU_SECONDS = 120
"""What a family may take; it takes a tenth of a second."""


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of one seed."""

    seed: int
    broken: list[str] = []
    counted: dict[str, int] = {}
    virtual: float = 0.0
    cpu: float = 0.0


def run(seeds: range, *, workers: int, mutant: Mutant | None = None) -> Iterator[Result]:
    """Play the schedules of all seeds, some blocks at a time; results come as they come."""
    blocks = iter(range(seeds.start // BLOCK, (seeds.stop - 1) // BLOCK + 1))
    running: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:

        def start() -> None:
            if (block := next(blocks, None)) is not None:
                reading, pid = _forked(lambda writing: _block(block, seeds, mutant, writing), leads=True)
                running[reading] = pid
                selector.register(reading, selectors.EVENT_READ, bytearray())

        for _ in range(workers):
            start()
        try:
            while running:
                for key, _ in selector.select():
                    chunk = os.read(key.fd, 1 << 16)
                    yield from _lines(key.data, chunk)
                    if not chunk:
                        selector.unregister(key.fd)
                        os.close(key.fd)
                        if code := _reap(running.pop(key.fd)):
                            raise RuntimeError(f"a cluster did not come up (exit {code}); see above")
                        start()
        finally:
            for pid in running.values():
                os.killpg(pid, signal.SIGKILL)
                _reap(pid)


def play_alone(schedule: Schedule, *, tell: Tell | None = None, mutant: Mutant | None = None) -> list[Result]:
    """Play one schedule in a process of its own; the results of its acts."""

    def work(writing: int) -> None:
        staged = _stage(schedule.cluster)
        if tell is not None:
            trace.attach(staged[1], tell)
        _play(staged, schedule.acts, mutant, writing)

    reading, pid = _forked(work)
    buffer, results = bytearray(), list[Result]()
    while chunk := os.read(reading, 1 << 16):
        results += _lines(buffer, chunk)
    os.close(reading)
    return results + _killed(_reap(pid), schedule.acts, results)


def _forked(work: Callable[[int], None], *, leads: bool = False) -> tuple[int, int]:
    """Have a copy of this process do something; where to read what it says, and its id.

    One that leads has a process group of its own, and its copies with it.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        if leads:
            os.setpgid(pid, pid)
        return reading, pid
    code = 1
    try:
        os.close(reading)
        work(writing)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        # Without good-byes: tasks that would be cancelled, and buffers that would be written twice, are the parent's.
        os._exit(code)


def _reap(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _lines(buffer: bytearray, chunk: bytes) -> Iterator[Result]:
    buffer += chunk
    *whole, rest = buffer.split(b"\n")
    buffer[:] = rest
    for line in whole:
        yield msgspec.json.decode(line, type=Result)


def _stage(cluster: Cluster) -> _Staged:
    """A cluster at rest, in a loop that stands still."""
    random.seed(0)
    loop = SimulatedLoop()
    asyncio.set_event_loop(loop)
    up: asyncio.Future[Stage] = loop.create_future()
    hosting = loop.create_task(host(cluster, up))
    # Should it fail, nobody would ever say that it is up.
    hosting.add_done_callback(lambda ended: None if up.done() else up.set_exception(ended.exception() or Endless()))
    loop.run_until_complete(up)
    # What is there by now stays: nobody needs to go through it again, and pages that nobody touches are not copied.
    gc.collect()
    gc.freeze()
    gc.disable()
    return loop, up.result(), hosting


def _block(block: int, seeds: range, mutant: Mutant | None, writing: int) -> None:
    began, cluster = time.process_time(), cluster_of(block)
    staged, bring_up = _stage(cluster), time.process_time() - began
    first, last = max(block * BLOCK, seeds.start), min((block + 1) * BLOCK, seeds.stop)
    for family in range(first - first % FAMILY, last, FAMILY):
        acts = [act_of(seed, cluster) for seed in range(family, min(family + FAMILY, last))]
        reading, pid = _forked(lambda inner, acts=acts: _play(staged, acts, mutant, inner))  # type: ignore[misc]
        said = bytearray()
        while chunk := os.read(reading, 1 << 16):
            said += chunk
        os.close(reading)
        results = [*_lines(said, b"")]
        for one in results + _killed(_reap(pid), acts, results):
            if one.seed >= first:
                share = bring_up / (last - first)
                os.write(writing, msgspec.json.encode(msgspec.structs.replace(one, cpu=one.cpu + share)) + b"\n")


def _play(staged: _Staged, acts: Sequence[Act], mutant: Mutant | None, writing: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    loop, stage, hosting = staged
    if mutant is not None:
        mutant.breed()
    spent = 0.0  # To copy a process costs as well.
    for act in acts:
        try:
            outcome = loop.run_until_complete(play_act(stage, hosting, act))
        except Endless as error:
            outcome = Outcome(broken=[f"{Promise.CALM.name}: {Promise.CALM.value}; but {error}"])
        cpu = time.process_time()
        told = Result(
            seed=act.seed, broken=outcome.broken, counted=outcome.counted, virtual=outcome.seconds, cpu=cpu - spent
        )
        spent = cpu
        os.write(writing, msgspec.json.encode(told) + b"\n")
        if outcome.broken:
            return


def _killed(code: int, acts: Sequence[Act], results: Sequence[Result]) -> list[Result]:
    """What is to be told of an act in which the process died."""
    if not code:
        return []
    seed = acts[min(len(results), len(acts) - 1)].seed
    words = f"the process ended with {code}; it may have worked without end"
    return [Result(seed=seed, broken=[f"{Promise.CALM.name}: {Promise.CALM.value}; but {words}"])]
