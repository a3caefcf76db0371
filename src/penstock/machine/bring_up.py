"""From a list of objects to a cluster in which a job has run: apply, wait, prove."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from penstock.api.objects import Json
from penstock.cluster import catalogue
from penstock.cluster.errors import AlreadyExists, ClusterError, Unreachable
from penstock.cluster.informer import Informer
from penstock.cluster.kube import KubeCluster, local
from penstock.cluster.resources import Lean, Resource, Whole
from penstock.machine.inside import run_in_login

MANAGER = "penstock-up"
OURS = ("controllers", "accountings", "restapis", "nodesets", "loginsets")
_GROUP = "slinky.slurm.net"
_NAMESPACES: Resource[Lean] = Resource("", "v1", "namespaces", "Namespace", Lean, namespaced=False)

Tell = Callable[[str], None]


class NotUp(Exception):
    """The cluster did not come up; the message says what it waits for."""


async def answering(socket: Path, *, seconds: float, alive: Callable[[], bool]) -> None:
    """Wait until the API of the machine answers."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            async with KubeCluster(local(socket)) as cluster:
                await cluster.list(_NAMESPACES, limit=1)
        except Unreachable as problem:
            if asyncio.get_running_loop().time() > deadline or not alive():
                raise NotUp(f"the machine's API does not answer: {problem}") from problem
            await asyncio.sleep(0.05)
        else:
            return


async def put(cluster: KubeCluster, objects: Sequence[Json], keys: Sequence[Json]) -> None:
    """Make namespaces and keys that are not there, and everything else as it should be."""
    for name in sorted({_namespace(body) for body in (*objects, *keys)}):
        await _create(cluster, _NAMESPACES, {"metadata": {"name": name}})
    for body in keys:
        await _create(cluster, _resource(body), body)
    for body in objects:
        await cluster.apply(_resource(body), body, manager=MANAGER)


async def ready(cluster: KubeCluster, tell: Tell, *, seconds: float) -> None:
    """Wait until every object of ours says that it is ready; tell what it waits for while it does."""
    informers = [Informer(cluster, _ours(plural)) for plural in OURS]
    changed = asyncio.Event()
    for informer in informers:
        informer.subscribe(lambda _old, _new: changed.set())
    waiting: list[str] = ["everything"]
    tasks = [asyncio.create_task(informer.run()) for informer in informers]
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(informer.synced.wait() for informer in informers))
            while waiting := [why for informer in informers for item in informer.all() if (why := _why_not(item))]:
                tell(waiting[0])
                changed.clear()
                await changed.wait()
    except TimeoutError:
        raise NotUp(f"not ready after {seconds:.0f} s: {'; '.join(waiting)}") from None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def job_on_every_node(cluster: KubeCluster, *, namespace: str, seconds: float) -> list[str]:
    """Run `hostname` as a job on every node of every NodeSet; the nodes that answered."""
    node_sets = (await cluster.list(_ours("nodesets"))).items
    wanted = sum(int(item.spec.get("replicas", 1)) for item in node_sets if item.metadata.namespace == namespace)
    if wanted == 0:
        return []
    command = ["srun", f"--nodes={wanted}", f"--ntasks={wanted}", "--ntasks-per-node=1", "hostname"]
    try:
        async with asyncio.timeout(seconds):
            code, said = await run_in_login(cluster, command, namespace=namespace)
    except TimeoutError:
        raise NotUp(f"`{' '.join(command)}` did not end within {seconds:.0f} s; see penstock status") from None
    if code:
        raise NotUp(f"`{' '.join(command)}` failed: {said.strip()}")
    return sorted(said.split())


async def _create(cluster: KubeCluster, resource: Resource[Lean], body: Json) -> None:
    with suppress(AlreadyExists):
        await cluster.create(resource, body, manager=MANAGER)


def _why_not(item: Whole) -> str:
    """Why an object is not ready, in its own words; nothing when it is."""
    name = f"{item.metadata.namespace}/{item.metadata.name}"
    for condition in item.status.get("conditions") or ():
        if condition.get("type") == "Ready":
            current = condition.get("observedGeneration", 0) >= item.metadata.generation
            if condition.get("status") == "True" and current:
                return ""
            return f"{name}: {condition.get('message') or condition.get('reason')}"
    return f"{name}: nobody has looked at it yet"


def _ours(plural: str) -> Resource[Whole]:
    entry = next(one for one in catalogue.ENTRIES if (one.group, one.plural) == (_GROUP, plural))
    return Resource(entry.group, entry.version, entry.plural, entry.kind, Whole)


def _resource(body: Json) -> Resource[Lean]:
    group, _, version = str(body.get("apiVersion", "")).rpartition("/")
    for entry in catalogue.ENTRIES:
        if (entry.group, entry.version, entry.kind) == (group, version, body.get("kind")):
            return Resource(entry.group, entry.version, entry.plural, entry.kind, Lean, entry.namespaced)
    raise NotUp(f"{body.get('kind')} of {body.get('apiVersion')} is not a kind that one machine knows")


def _namespace(body: Json) -> str:
    metadata = msgspec.convert(body.get("metadata", {}), dict[str, object])
    return str(metadata.setdefault("namespace", "slurm"))


__all__ = ["MANAGER", "ClusterError", "NotUp", "answering", "job_on_every_node", "put", "ready"]
