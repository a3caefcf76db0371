"""An operator on its stage: what is to be measured, and where."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass

from operators.report import Report
from operators.subject import Subject
from operators.tally import NODE_SETS, Tally, tally
from operators.world import NODE_SET, World, played_slurm

NAMESPACE = "bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure."""

    pods: list[int]
    command: list[str]
    """Empty: only the bare loop."""
    machines: int
    connections: int
    rest_seconds: float
    slurm_argument: str | None
    """How the operator is told of the played slurmrestd; None: without Slurm."""
    ready_url: str
    metrics_url: str
    first_pass: str


@dataclass(frozen=True, slots=True)
class Scene:
    """An operator's surroundings."""

    plan: Plan
    report: Report
    world: World
    counts: Tally
    slurm_url: str | None

    @contextmanager
    def operator(self) -> Iterator[Subject]:
        """The operator, from its start to its end."""
        words = {"kubeconfig": str(self.world.kubeconfig), "namespace": NAMESPACE, "slurmrestd": self.slurm_url or ""}
        # The one place where an operator learns of the played slurmrestd.
        told = [self.plan.slurm_argument] if self.plan.slurm_argument and self.slurm_url else []
        subject = Subject([word.format(**words) for word in [*self.plan.command, *told]], self.world.directory / "log")
        try:
            yield subject
        finally:
            subject.stop()

    async def scale(self, replicas: int) -> float:
        """Ask for another size; the moment when."""
        began = time.perf_counter()
        await self.world.cluster.scale(NODE_SETS, NODE_SET, replicas, namespace=NAMESPACE)
        return began


@asynccontextmanager
async def scene_of(plan: Plan, report: Report, made: World) -> AsyncIterator[Scene]:
    """A Slurm cluster without workers, counted, and with a played slurmrestd if that is wanted."""
    await made.add_slurm(NAMESPACE)
    slurm = played_slurm(plan.pods[-1] + 1, made.directory) if plan.slurm_argument else nullcontext(None)
    with slurm as url:
        async with tally(made.cluster, NAMESPACE) as counts:
            yield Scene(plan, report, made, counts, url)


async def bounded(subject: Subject, moment: Coroutine[object, object, float]) -> float:
    """Wait for a moment as long as the operator lives."""
    waiting = asyncio.create_task(moment)
    while not waiting.done():
        subject.check()
        await asyncio.wait([waiting], timeout=1)
    return waiting.result()
