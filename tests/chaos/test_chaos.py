"""SPEC ONE-2: kill -9 of anything, under a stream of jobs, loses none and leaves nothing behind.

PENSTOCK_CHAOS_KILLS=200 PENSTOCK_CHAOS_SEED=7 pytest -s tests/chaos
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time

from penstock.cluster.errors import ClusterError
from penstock.cluster.kube import KubeCluster, local
from penstock.engine import processes
from penstock.machine import process
from penstock.machine.manifest import NAMESPACE
from penstock.machine.report import Report, gather

from . import judgement, traces, victims
from .room import Room, room
from .stream import Stream, ask, ends_of_slurmctld

KILLS = int(os.environ.get("PENSTOCK_CHAOS_KILLS") or 50)
SEED = int(os.environ.get("PENSTOCK_CHAOS_SEED") or random.SystemRandom().randrange(10_000))
_SETTLE = 150.0
"""Seconds until all is as before: the longest back-off of a container that was killed again and again is a minute."""


def test_kill_anything_again_and_again_under_a_stream_of_jobs() -> None:
    """Each accepted job runs once, or Slurm says that its node was lost; what is left is what was there before."""
    say(f"seed {SEED}, {KILLS} kills")
    links = traces.links_of_machine()
    with room() as it:
        stream, ends = Stream(it, SEED), list[float]()
        kills = asyncio.run(chaos(it, stream, ends))
        states = asyncio.run(settled(it))
        verdict = judgement.judge(
            stream.submissions, judgement.lines(it.ledger.read_text()), states, ends_of_slurmctld=ends
        )
        say(f"{len(kills)} kills; jobs: {dict(verdict.counts)}")
        assert verdict.wrongs == []
        # If hardly anything ran, hardly anything was shown.
        assert verdict.counts["ran once"] >= KILLS // 5, stream.refusals
        assert traces.superfluous(it.layout) == []
    assert traces.of(it.layout) == []
    assert traces.links_of_machine() == links


async def chaos(it: Room, stream: Stream, ends: list[float]) -> list[victims.Kill]:
    """Kill while jobs come; what was killed."""
    # The job of `penstock up` is none of them: if slurmctld forgot its end, nobody would ever end it.
    await asyncio.sleep(judgement.MEMORY)
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(ends_of_slurmctld(it, ends))
        streaming = group.create_task(stream.run())
        began, kills = time.time(), list[victims.Kill]()
        for shot in victims.schedule(SEED, KILLS):
            async with asyncio.timeout(_SETTLE):
                while (killed := await asyncio.to_thread(victims.kill, shot, it.layout)) is None:  # noqa: ASYNC110
                    await asyncio.sleep(0.2)  # all of it is dead, and comes back
            kills.append(killed)
            say(f"{killed.at - began:6.1f} s  {killed}")
            if killed.who.startswith("slurmctld"):
                ends.append(killed.at)  # one that lives too shortly to be watched
            if killed.what == "supervise":
                await _taken_up_again(it)
            await (recovered(it, stream, killed.at) if shot.pause is None else asyncio.sleep(shot.pause))
        stream.stopping.set()
        await streaming
        watching.cancel()
    return kills


async def _taken_up_again(it: Room) -> None:
    """What systemd, or a person, does when both are gone. Not by `up`: the job that it runs would be one of many."""
    if known := process.found(it.layout):
        processes.send(known, signal.SIGKILL)
        await processes.ended(known)
    it.look_after()


async def recovered(it: Room, stream: Stream, since: float) -> None:
    """Wait until a job that was accepted after a time has run to its end: how long that takes the machine decides."""
    try:
        async with asyncio.timeout(_SETTLE):
            while not {one.name for one in stream.submissions if one.number and one.at > since} & stream.ended():  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    except TimeoutError:
        told = [await _unsettled(it), *stream.refusals[-4:]]
        raise AssertionError(f"no job has run for {_SETTLE:.0f} s: {told}") from None


async def settled(it: Room) -> dict[str, str]:
    """Wait until everything is ready and every job is over; what Slurm says of the jobs, by name."""
    last = ""
    try:
        async with asyncio.timeout(_SETTLE):
            while last := await _unsettled(it):  # noqa: ASYNC110 - Slurm tells nobody of its changes
                await asyncio.sleep(0.5)
    except TimeoutError:
        raise AssertionError(f"not settled after {_SETTLE:.0f} s: {last}") from None
    return await states(it)


async def _unsettled(it: Room) -> str:
    """What still waits; nothing when nothing does."""
    try:
        async with KubeCluster(local(it.layout.socket)) as cluster:
            report = await gather(cluster, namespace=NAMESPACE)
    except ClusterError as problem:
        return str(problem)
    return _waits(report)


def _waits(report: Report) -> str:
    waiting = [f"{one.kind} {one.name}: {one.why}" for one in report.things if not one.ready]
    waiting += [f"pod {one.name}: {one.phase} {one.why}" for one in report.pods if not one.ready]
    waiting += [f"node {one.name}: {one.state} {one.reason}" for one in report.nodes if one.state != "idle"]
    waiting += [f"job {one.name}: {one.state} {one.where}" for one in report.jobs]
    return "; ".join([*([report.slurm] if report.slurm else []), *waiting])


async def states(it: Room) -> dict[str, str]:
    """Slurm's word on every job by its name: the accounting's, and over it the controller's own."""
    found: dict[str, str] = {}
    for words in (["sacct", "-XDnP", "-o", "JobName,State"], ["squeue", "-h", "-t", "all", "-o", "%j|%T"]):
        code, said = await ask(it, words)
        assert code == 0, said
        for line in said.splitlines():
            name, _, state = line.partition("|")
            found[name] = state.split()[0]
    return found


def say(text: str) -> None:
    """For whoever reads the log of a test that failed."""
    print(text, flush=True)
