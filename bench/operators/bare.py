"""What no operator can go below: the same pods made, listed and deleted by a loop that thinks of nothing."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kube.fake.api import connect
from operators.report import say
from operators.tally import PODS, Tally, tally
from operators.world import World, bare_pods
from penstock.api.objects import Json
from penstock.cluster.kube import KubeCluster
from penstock.cluster.port import Selection

T = TypeVar("T")

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Step:
    """From one size to the next."""

    pods: int
    created: float
    """Seconds until the last pod was there."""
    ready: float
    """Seconds until the last pod was ready."""


async def steps(
    world: World, sizes: list[int], connections: int, *, namespace: str, service: bool = False
) -> list[Step]:
    """Grow through the sizes in a namespace of its own, then take it all back.

    With the Service that all workers share, Kubernetes' own controllers keep its endpoints meanwhile, which costs about
    as much as an operator, whoever makes the pods.
    """
    await world.add_namespace(namespace)
    if service:
        await world.add_service(namespace)
    bodies = bare_pods(namespace, sizes[-1])
    done = []
    async with tally(world.cluster, namespace) as counts:
        for before, size in zip([0, *sizes], sizes, strict=False):
            done.append(await grow(world.kubeconfig, counts, bodies[before:size], size, connections))
            say(f"the bare loop has made {size} pods, and they are ready; {done[-1].created:.2f} s for the step")
        await take_back(world, counts, namespace, [body["metadata"]["name"] for body in bodies], connections)
    return done


def mean(before: list[Step], after: list[Step]) -> list[Step]:
    """What lies between two runs: a machine is never as fast twice."""
    pairs = zip(before, after, strict=True)
    return [Step(a.pods, (a.created + b.created) / 2, (a.ready + b.ready) / 2) for a, b in pairs]


async def take_back(world: World, counts: Tally, namespace: str, names: list[str], connections: int) -> None:
    """Delete pods and wait until they are gone."""
    say(f"{len(names)} pods are taken back")
    await _delete(world.kubeconfig, namespace, names, connections)
    await counts.until(lambda: counts.pods == 0)


async def paged_list(cluster: KubeCluster, namespace: str) -> float:
    """Seconds for reading all pods once, page by page, with the client that the informer has."""
    began, token = time.perf_counter(), ""
    while True:
        page = await cluster.list(PODS, Selection(namespace=namespace), limit=_PAGE, continue_token=token)
        token = page.continue_token
        if not token:
            return time.perf_counter() - began


async def list_program(kubeconfig: Path, namespace: str) -> float:
    """Seconds for a program that reads all pods once, page by page, and does nothing else."""
    began = time.perf_counter()
    program = await asyncio.create_subprocess_exec(
        sys.executable, str(Path(__file__).with_name("raw_list.py")), str(kubeconfig), namespace
    )
    if await program.wait():
        raise RuntimeError("the bare list failed; it said why above")
    return time.perf_counter() - began


async def grow(kubeconfig: Path, counts: Tally, bodies: list[Json], size: int, connections: int) -> Step:
    """Make pods, and wait until so many are ready."""
    began = time.perf_counter()
    async with connect(kubeconfig, connections) as api:

        async def create(body: Json) -> None:
            await api.write("POST", f"/api/v1/namespaces/{body['metadata']['namespace']}/pods", body)

        await each(bodies, create, connections)
    created = time.perf_counter() - began
    return Step(size, created, await counts.until(lambda: counts.ready == size) - began)


async def _delete(kubeconfig: Path, namespace: str, names: list[str], connections: int) -> None:
    async with connect(kubeconfig, connections) as api:

        async def delete(name: str) -> None:
            path = f"/api/v1/namespaces/{namespace}/pods/{name}"
            await api.write("DELETE", path, {"gracePeriodSeconds": 0}, fine=[404])

        await each(names, delete, connections)


async def each(items: Iterable[T], work: Callable[[T], Awaitable[None]], workers: int) -> None:
    """Do the same with each, so many at a time."""
    rest = iter(items)

    async def one() -> None:
        for item in rest:
            await work(item)

    await asyncio.gather(*(one() for _ in range(workers)))
