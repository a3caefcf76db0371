"""The measurements, in the order in which they are made."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from dataclasses import dataclass

from operators import bare, requests
from operators.bare import Step
from operators.report import Report, say
from operators.scene import NAMESPACE, Plan, Scene, bounded, scene_of
from operators.subject import Subject
from operators.tally import PODS
from operators.world import World, world
from penstock.cluster.port import Selection

_WARM_UP = 1000
_TURNS = 3
_SETTLING = 10.0
"""Seconds without a write before rest is called rest."""


async def measure(plan: Plan, report: Report) -> None:
    """Everything, in one run."""
    async with world(plan.machines, plan.connections) as made:
        report.details["load of the machine, before"] = os.getloadavg()
        say("a warm-up: the first thousand pods of an API server are made faster than all others")
        await bare.steps(made, [_WARM_UP], plan.connections, namespace="warm-up")
        before = await _bare(plan, report, made, "before")
        if plan.command:
            async with scene_of(plan, report, made) as scene:
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
    created = await bounded(subject, counts.until(lambda: counts.pods >= step.pods)) - began
    scene.report.add(f"{what} created", created, raw=step.created)
    ready = await bounded(subject, counts.until(lambda: counts.ready >= step.pods)) - began
    scene.report.add(f"{what} ready", ready, raw=step.ready)
    told = await bounded(subject, counts.until(lambda: counts.said_ready == step.pods))
    scene.report.add(f"{what}: status right", told - began, raw=step.ready)
    scene.report.add(f"{what}: status right after the last one was ready", max(told - counts.last_ready_at, 0.0))
    scene.report.add(f"{what}: CPU time of the operator", subject.cpu_seconds() - cpu)
    now, peak = subject.memory()
    scene.report.add(f"memory with {step.pods} pods", now, "MiB")
    scene.report.add(f"memory at its peak, up to {step.pods} pods", peak, "MiB")


async def _rest(scene: Scene, subject: Subject, others: Counter[str]) -> None:
    seconds, pods = scene.plan.rest_seconds, scene.plan.pods[-1]
    say(f"{seconds:.0f} s at rest")
    await _settled(scene, others)
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
        scene.report.details["slurmrestd, at rest"] = requests.more(asked, requests.slurm_counts(scene.slurm_url))


async def _settled(scene: Scene, others: Counter[str]) -> None:
    """Wait until nothing is written any more: Slurm's states may still be told to thousands of pods."""
    share = Counter({what: round(count * _SETTLING / scene.plan.rest_seconds) for what, count in others.items()})
    began, still = time.perf_counter(), 1
    while still:
        before = requests.counted(scene.world)
        await asyncio.sleep(_SETTLING)
        still = requests.writes(requests.between(before, requests.counted(scene.world), share))
    scene.report.add("the last word was written, after that", time.perf_counter() - began - _SETTLING)


async def _cold_start(scene: Scene) -> None:
    """Start with all pods there, turn by turn with a program that only lists them: of each the best counts."""
    pods, turns = scene.plan.pods[-1], list[_Start]()
    listing, inside = list[float](), list[float]()
    for turn in range(_TURNS):
        listing.append(await bare.list_program(scene.world.kubeconfig, NAMESPACE))
        inside.append(await bare.paged_list(scene.world.cluster, NAMESPACE))
        say(f"the operator starts with {pods + turn} pods there")
        turns.append(await _start(scene, pods + turn))
    scene.report.add(f"a program that lists {pods} pods", raw := min(listing))
    scene.report.add(f"of that, the list itself, of {pods} pods", min(inside))
    scene.report.add(f"start with {pods} pods: ready", min(one.ready for one in turns), raw=raw)
    if all(one.passed for one in turns):
        passed = min(one.passed for one in turns)
        scene.report.add(f"start with {pods} pods: first pass, by its metrics", passed, raw=raw)
    scene.report.add(f"start with {pods} pods: first deed", min(one.acted for one in turns), raw=raw)
    scene.report.add(f"memory after a start with {pods} pods, peak", max(one.memory for one in turns), "MiB")


@dataclass(frozen=True, slots=True)
class _Start:
    """Seconds from a start on."""

    ready: float
    acted: float
    passed: float
    memory: float


async def _start(scene: Scene, pods: int) -> _Start:
    """Start once, with one thing to do: the first pass is done when it is."""
    plan, counts = scene.plan, scene.counts
    await scene.scale(pods + 1)
    with scene.operator() as subject:
        ready = asyncio.create_task(subject.answers(plan.ready_url))
        passed = asyncio.create_task(subject.answers(plan.metrics_url, plan.first_pass)) if plan.first_pass else None
        acted = await bounded(subject, counts.until(lambda: counts.pods > pods)) - subject.started_at
        return _Start(await ready, acted, await passed if passed else 0.0, subject.memory()[1])
