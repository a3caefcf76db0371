"""What goes wrong, and how it ends: at the end of an act the sky is clear."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from penstock.cluster.errors import NotFound
from tests.simulation.port import Fault
from tests.simulation.slurm import OPERATOR, node_name

from .people import worker
from .stage import Stage

_Change = Callable[[Stage, dict[str, Any]], Awaitable[None]]


async def change(stage: Stage, what: str, about: dict[str, Any]) -> None:
    """Have something go wrong from now on, or once."""
    with suppress(NotFound):
        await CHANGES[what](stage, about)
    stage.books.counted[what] += 1


def clear(stage: Stage) -> None:
    """Nothing goes wrong any more."""
    rest = stage.here.slurmrestd
    rest.away, rest.slow, rest.deaf, rest.lost_replies, rest.untold = False, stage.latency, False, 0, frozenset()
    rest.transfer = 0.0
    stage.here.kubernetes.full = False
    stage.books.on_told = lambda: None
    for running in stage.here.operators:
        if not running.task.done():
            port = running.port
            port.latency, port.cut_after, port.down = stage.latency, None, False
            port.faults.clear()
            port.hears.set()


async def _crash(stage: Stage, about: dict[str, Any]) -> None:
    """At any await: so many rounds of the loop from now."""
    for _ in range(about["rounds"]):
        await asyncio.sleep(0)
    await stage.leader.crash()


async def _call(stage: Stage, about: dict[str, Any]) -> None:
    port = stage.leader.port
    port.faults[len(port.calls) + about["call"]] = Fault[about["fault"]]


async def _silent(stage: Stage, about: dict[str, Any]) -> None:
    port = stage.leader.port
    port.hears.clear()
    stage.later(about["for"], port.hears.set)


async def _break(stage: Stage, about: dict[str, Any]) -> None:
    port = stage.leader.port
    port.cut_after = lambda: random.randrange(4)  # noqa: S311 - chance, not secrecy
    stage.later(about["for"], lambda: setattr(port, "cut_after", None))


async def _slow_messages(stage: Stage, about: dict[str, Any]) -> None:
    port = stage.leader.port
    port.latency = about["up to"]
    stage.later(about["for"], lambda: setattr(port, "latency", stage.latency))


async def _cut_off(stage: Stage, about: dict[str, Any]) -> None:
    port = stage.leader.port
    port.down = True
    stage.later(about["for"], lambda: setattr(port, "down", False))


async def _away(stage: Stage, about: dict[str, Any]) -> None:
    _while(stage, about, "away", during=True, after=False)


async def _slow(stage: Stage, about: dict[str, Any]) -> None:
    _while(stage, about, "slow", during=about["seconds"], after=stage.latency)


async def _deaf(stage: Stage, about: dict[str, Any]) -> None:
    _while(stage, about, "deaf", during=True, after=False)


def _while(stage: Stage, about: dict[str, Any], name: str, *, during: object, after: object) -> None:
    setattr(stage.here.slurmrestd, name, during)
    stage.later(about["for"], lambda: setattr(stage.here.slurmrestd, name, after))


async def _lost(stage: Stage, about: dict[str, Any]) -> None:
    stage.here.slurmrestd.lost_replies += about["count"]


async def _killed(stage: Stage, about: dict[str, Any]) -> None:
    rest = stage.here.slurmrestd
    rest.away = stage.slurmctld_dead = True

    def back() -> None:
        rest.away = stage.slurmctld_dead = False
        stage.here.slurm.killed()

    stage.later(about["for"], back)


async def _behind(stage: Stage, about: dict[str, Any]) -> None:
    """Right after Slurm has told that a node is drained a person has it take jobs again, and one begins.

    `later`: not when it tells so for the first time, for the worker is not about to go by then.
    """
    left, told = [about["count"]], [0]

    def give_back() -> None:
        drained = [one for one in stage.here.slurm.nodes.values() if one.drain and one.pod and not one.jobs]
        ours = [one.name for one in drained if one.whose == OPERATOR]
        told[0] += bool(ours)
        if told[0] > about.get("later", 0) and ours and left[0]:
            left[0] -= 1
            stage.here.slurm.change(ours[:1], {"state": ["UNDRAIN"]})
            stage.here.slurm.submit(1, 8.0, on=ours[0])

    stage.books.on_told = give_back


async def _long_answers(stage: Stage, about: dict[str, Any]) -> None:
    """All nodes are long on their way, and what they were when Slurm told them they need not be any more."""
    _while(stage, about, "transfer", during=about["seconds"], after=0.0)
    await _behind(stage, about)


async def _untold(stage: Stage, about: dict[str, Any]) -> None:
    if (pod := worker(stage, about)) is not None:
        stage.here.slurm.touch()
        _while(stage, about, "untold", during=frozenset({node_name(pod)}), after=frozenset())
        stage.later(about["for"], stage.here.slurm.touch)


async def _not_ready(stage: Stage, about: dict[str, Any]) -> None:
    if (pod := worker(stage, about)) is not None:
        stage.meanwhile(stage.here.kubernetes.flap(pod, about["for"]))


async def _fails(stage: Stage, about: dict[str, Any]) -> None:
    if (pod := worker(stage, about)) is not None:
        await stage.here.kubernetes.fail(pod)


async def _full(stage: Stage, about: dict[str, Any]) -> None:
    stage.here.kubernetes.full = True
    stage.later(about["for"], lambda: setattr(stage.here.kubernetes, "full", False))


CHANGES: dict[str, _Change] = {
    "the operator crashes": _crash,
    "a call goes wrong": _call,
    "watches are silent": _silent,
    "watches break": _break,
    "messages are slow": _slow_messages,
    "the leader is cut off": _cut_off,
    "slurmrestd is away": _away,
    "slurmrestd is slow": _slow,
    "slurmrestd is deaf": _deaf,
    "answers of slurmrestd are lost": _lost,
    "slurmctld is killed": _killed,
    "somebody gives back what has just drained": _behind,
    "all nodes take long to be told": _long_answers,
    "slurmrestd leaves out a node": _untold,
    "a pod is not ready": _not_ready,
    "a pod fails": _fails,
    "no machine has room": _full,
}
