"""The measurements, in the order in which they are made."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass

from operators import bare, requests
from operators.bare import Step
from operators.report import Report, say
from operators.subject import Subject
from operators.tally import NODE_SETS, PODS, Tally, tally
from operators.world import NODE_SET, World, played_slurm, world
from penstock.cluster.port import Selection

NAMESPACE = "bench"
_WARM_UP = 1000
_SETTLING = 10.0
"""Seconds after the last change before rest is called rest."""


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


async def measure(plan: Plan, report: Report) -> None:
    """Everything, in one run."""
    async with world(plan.machines, plan.connections) as made:
        report.details["load of the machine, before"] = os.getloadavg()
        say("a warm-up: the first thousand pods of an API server are made faster than all others")
        await bare.steps(made, [_WARM_UP], plan.connections, namespace="warm-up")
        before = await _bare(plan, report, made, "before")
        if plan.command:
            async with _scene(plan, report, made) as scene:
                await _measure_operator(scene, before)
                await bare.take_back(made, scene.counts, NAMESPACE, await _workers(made), plan.connections)
            await _bare(plan, report, made, "with-service", service=True)
            after = await _bare(plan, report, made, "after")
            report.compare(_raw(plan, bare.mean(before, after)))
        report.details["load of the machine, after"] = os.getloadavg()


async def _bare(plan: Plan, report: Report, made: World, when: str, *, service: bool = False) -> list[Step]:
    say(f"a bare loop of {plan.connections} connections makes {plan.pods} pods ({when})")
    steps = await bare.steps(made, plan.pods, plan.connections, namespace=f"bare-{when}", service=service)
    for size, step in zip([0, *plan.pods], steps, strict=False):
        report.add(f"bare loop, {when}: {size} -> {step.pods} pods created", step.created)
        report.add(f"bare loop, {when}: {size} -> {step.pods} pods ready", step.ready)
    return steps


def _raw(plan: Plan, steps: list[Step]) -> dict[str, float]:
    """The bare figures by what is measured of an operator."""
    found: dict[str, float] = {}
    for before, step in zip([0, *plan.pods], steps, strict=False):
        what = f"{before} -> {step.pods} pods"
        found |= {f"{what} created": step.created, f"{what} ready": step.ready, f"{what}: status right": step.ready}
    return found


async def _workers(made: World) -> list[str]:
    found, token = [], ""
    while True:
        page = await made.cluster.list(PODS, Selection(namespace=NAMESPACE), continue_token=token)
        found += [pod.metadata.name for pod in page.items if pod.works]
        if not (token := page.continue_token):
            return found


@asynccontextmanager
async def _scene(plan: Plan, report: Report, made: World) -> AsyncIterator[Scene]:
    await made.add_slurm(NAMESPACE)
    slurm = played_slurm(plan.pods[-1] + 1, made.directory) if plan.slurm_argument else nullcontext(None)
    with slurm as url:
        async with tally(made.cluster, NAMESPACE) as counts:
            yield Scene(plan, report, made, counts, url)


async def _measure_operator(scene: Scene, steps: list[Step]) -> None:
    others = await _others(scene)
    with scene.operator() as subject:
        scene.report.add("start without pods: ready", await subject.answers(scene.plan.ready_url))
        for before, step in zip([0, *scene.plan.pods], steps, strict=False):
            await _grow(scene, subject, before, step)
        await _rest(scene, subject, others)
    await _cold_start(scene)


async def _others(scene: Scene) -> Counter[str]:
    """What is asked of the API server without the operator, in the time of the rest."""
    window = scene.plan.rest_seconds / 3
    say(f"{window:.0f} s without an operator, to know what the others ask")
    before = requests.counted(scene.world)
    await asyncio.sleep(window)
    found = requests.between(before, requests.counted(scene.world), Counter())
    return Counter({what: count * 3 for what, count in found.items()})


async def _grow(scene: Scene, subject: Subject, before: int, step: Step) -> None:
    counts, what = scene.counts, f"{before} -> {step.pods} pods"
    say(f"the operator: {what}")
    cpu, began = subject.cpu_seconds(), await scene.scale(step.pods)
    created = await _bounded(subject, counts.until(lambda: counts.pods >= step.pods)) - began
    scene.report.add(f"{what} created", created, raw=step.created)
    ready = await _bounded(subject, counts.until(lambda: counts.ready >= step.pods)) - began
    scene.report.add(f"{what} ready", ready, raw=step.ready)
    told = await _bounded(subject, counts.until(lambda: counts.said_ready == step.pods))
    scene.report.add(f"{what}: status right", told - began, raw=step.ready)
    scene.report.add(f"{what}: status right after the last one was ready", max(told - counts.last_ready_at, 0.0))
    scene.report.add(f"{what}: CPU time of the operator", subject.cpu_seconds() - cpu)
    now, peak = subject.memory()
    scene.report.add(f"memory with {step.pods} pods", now, "MiB")
    scene.report.add(f"memory at its peak, up to {step.pods} pods", peak, "MiB")


async def _rest(scene: Scene, subject: Subject, others: Counter[str]) -> None:
    seconds, pods = scene.plan.rest_seconds, scene.plan.pods[-1]
    say(f"{seconds:.0f} s at rest")
    await asyncio.sleep(_SETTLING)
    before, cpu, began = requests.counted(scene.world), subject.cpu_seconds(), time.perf_counter()
    asked = requests.slurm_counts(scene.slurm_url) if scene.slurm_url else {}
    await asyncio.sleep(seconds)
    share = (subject.cpu_seconds() - cpu) / (time.perf_counter() - began)
    found = requests.between(before, requests.counted(scene.world), others)
    scene.report.add(f"CPU at rest with {pods} pods, of a core", share * 100, "%")
    scene.report.add(f"writes in {seconds:.0f} s at rest, leases apart", requests.writes(found), "")
    scene.report.add(f"lists in {seconds:.0f} s at rest", requests.lists(found), "")
    scene.report.details["API server, at rest"] = found
    if scene.slurm_url:
        scene.report.details["slurmrestd, at rest"] = _more(asked, requests.slurm_counts(scene.slurm_url))


async def _cold_start(scene: Scene) -> None:
    """Start with all pods there, and with one thing to do: the first pass is done when it is."""
    plan, counts, pods = scene.plan, scene.counts, scene.plan.pods[-1]
    raw = min([await bare.list_program(scene.world.kubeconfig, NAMESPACE) for _ in range(3)])
    inside = min([await bare.paged_list(scene.world.cluster, NAMESPACE) for _ in range(3)])
    scene.report.add(f"a program that lists {pods} pods", raw)
    scene.report.add(f"of that, the list itself, of {pods} pods", inside)
    say(f"the operator starts with {pods} pods there")
    await scene.scale(pods + 1)
    with scene.operator() as subject:
        ready = asyncio.create_task(subject.answers(plan.ready_url))
        passed = asyncio.create_task(subject.answers(plan.metrics_url, plan.first_pass)) if plan.first_pass else None
        acted = await _bounded(subject, counts.until(lambda: counts.pods > pods)) - subject.started_at
        scene.report.add(f"start with {pods} pods: ready", await ready, raw=raw)
        if passed is not None:
            scene.report.add(f"start with {pods} pods: first pass, by its metrics", await passed, raw=raw)
        scene.report.add(f"start with {pods} pods: first deed", acted, raw=raw)
        scene.report.add(f"memory after a start with {pods} pods, peak", subject.memory()[1], "MiB")


async def _bounded(subject: Subject, moment: Coroutine[object, object, float]) -> float:
    """Wait for a moment as long as the operator lives."""
    waiting = asyncio.create_task(moment)
    while not waiting.done():
        subject.check()
        await asyncio.wait([waiting], timeout=1)
    return waiting.result()


def _more(before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """What was asked in between, by status."""
    grown = {
        what: {status: count - before.get(what, {}).get(status, 0) for status, count in by_status.items()}
        for what, by_status in after.items()
    }
    return {what: kept for what, by_status in grown.items() if (kept := {s: c for s, c in by_status.items() if c})}
