"""How soon a cluster of idle workers is empty: drained in Slurm, deleted in Kubernetes, gone. There is a bar."""

from __future__ import annotations

import os
import time

import aiohttp

from kube.fake.api import connect
from operators import bare, requests
from operators.report import Report, say
from operators.scene import Plan, bounded, scene_of
from operators.tally import Tally, tally
from operators.world import World, bare_pods, played_slurm, world

_NODE = "/slurm/v0.0.42/node/{name}"
_BAR = 2.0
"""How many times as long as a loop that thinks of nothing it may take."""
_DRAIN = {"state": ["DRAIN"], "reason": "bench: to be deleted"}


async def measure(plan: Plan, report: Report) -> None:
    """A loop that drains and deletes, the operator, and the loop again: one run, one machine."""
    async with world(plan.machines, plan.connections) as made:
        report.details["load of the machine, before"] = os.getloadavg()
        count = plan.pods[-1]
        before = await _bare(plan, report, made, count, "before")
        taken = await _operator(plan, report, made, count)
        after = await _bare(plan, report, made, count, "after")
        report.add(f"{count} idle workers -> 0: gone", taken, raw=(before + after) / 2, bar=_BAR)
        report.details["load of the machine, after"] = os.getloadavg()


async def _bare(plan: Plan, report: Report, made: World, count: int, when: str) -> float:
    """Seconds for a loop that thinks of nothing, beside the Service that all workers share."""
    namespace = f"bare-{when}"
    await made.add_namespace(namespace)
    await made.add_service(namespace)
    bodies = bare_pods(namespace, count)
    nodes = [body["spec"]["hostname"] for body in bodies]
    with played_slurm(count, made.directory) as url:
        async with tally(made.cluster, namespace) as counts:
            await bare.grow(made.kubeconfig, counts, bodies, count, plan.connections)
            names = [body["metadata"]["name"] for body in bodies]
            seconds = await _drain_and_delete(plan, made, counts, url, [*zip(nodes, names, strict=True)], namespace)
    return report.add(f"bare loop, {when}: {count} idle workers -> 0: gone", seconds)


async def _drain_and_delete(
    plan: Plan, made: World, counts: Tally, url: str, workers: list[tuple[str, str]], namespace: str
) -> float:
    began = time.perf_counter()
    token = {"X-SLURM-USER-NAME": "slurm", "X-SLURM-USER-TOKEN": "any"}
    async with aiohttp.ClientSession(url, headers=token) as slurm, connect(made.kubeconfig, plan.connections) as api:

        async def take(worker: tuple[str, str]) -> None:
            node, name = worker
            async with slurm.post(_NODE.format(name=node), json=_DRAIN) as answer:
                answer.raise_for_status()
                await answer.read()
            await api.write("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}", {})

        await bare.each(workers, take, plan.connections)
    return await counts.until(lambda: counts.pods == 0) - began


async def _operator(plan: Plan, report: Report, made: World, count: int) -> float:
    """Seconds from the request to the last pod's end, with a slurmrestd that knows these nodes."""
    async with scene_of(plan, report, made) as scene:
        with scene.operator() as subject:
            await scene.scale(count)
            await bounded(subject, scene.counts.until(lambda: scene.counts.said_ready == count))
            say(f"the operator: {count} workers are ready")
            asked, cpu = requests.slurm_counts(scene.slurm_url or ""), subject.cpu_seconds()
            began = await scene.scale(0)
            taken = await bounded(subject, scene.counts.until(lambda: scene.counts.pods == 0)) - began
            report.add(f"{count} idle workers -> 0: CPU time of the operator", subject.cpu_seconds() - cpu)
            report.details["slurmrestd, meanwhile"] = requests.more(asked, requests.slurm_counts(scene.slurm_url or ""))
    return taken
