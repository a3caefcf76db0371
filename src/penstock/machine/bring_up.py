"""From a list of objects to a cluster in which a job has run: apply, wait, prove."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from penstock.api.kinds import API_VERSION
from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.api.validation import decode
from penstock.cluster import catalogue
from penstock.cluster.errors import AlreadyExists, ClusterError, Unreachable
from penstock.cluster.informer import Informer
from penstock.cluster.kube import KubeCluster, local
from penstock.cluster.port import Selection
from penstock.cluster.resources import Lean, Resource, Whole
from penstock.machine.errors import NotUp
from penstock.machine.inside import run_in_login
from penstock.machine.manifest import NAMESPACE

MANAGER = "penstock-up"
OURS = ("controllers", "accountings", "restapis", "nodesets", "loginsets")
_GROUP = "slinky.slurm.net"
_NAMESPACES: Resource[Lean] = Resource("", "v1", "namespaces", "Namespace", Lean, namespaced=False)

_AGAIN = 0.5
"""Seconds before a job that Slurm could not run is tried again."""

Tell = Callable[[str], None]


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


def check(objects: Sequence[Json]) -> None:
    """Refuse what no machine can run, before anything is started for it."""
    for body in objects:
        _resource(body)


async def put(cluster: KubeCluster, objects: Sequence[Json], keys: Sequence[Json]) -> None:
    """Make namespaces and keys that are not there, and everything else as it should be."""
    wanted, secrets = [_placed(body) for body in objects], [_placed(body) for body in keys]
    namespaces = {body["metadata"].get("namespace") for body in (*wanted, *secrets)} - {None}
    for name in sorted(namespaces):
        await _create(cluster, _NAMESPACES, {"metadata": {"name": name}})
    for body in secrets:
        await _create(cluster, _resource(body), body)
    for body in wanted:
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


async def job_on_every_node(cluster: KubeCluster, *, namespaces: Sequence[str], seconds: float) -> list[str]:
    """Run `hostname` as a job on every node of every NodeSet that has a partition; the nodes that answered."""
    lists = [await cluster.list(_ours("nodesets"), Selection(namespace=one)) for one in namespaces]
    found = [item for listing in lists for item in listing.items]
    return sorted([name for item in found for name in await _answering(cluster, item, seconds)])


async def _answering(cluster: KubeCluster, item: Whole, seconds: float) -> list[str]:
    """The nodes of a NodeSet, by a job on all of them."""
    meta = {"name": item.metadata.name, "namespace": item.metadata.namespace}
    node_set = decode({"apiVersion": API_VERSION, "kind": NodeSet.kind, "metadata": meta, "spec": item.spec})
    if not isinstance(node_set, NodeSet) or not node_set.spec.partition.enabled or not node_set.spec.replicas:
        return []
    size = node_set.spec.replicas
    # A minute at most: who is killed while it waits for this job leaves it to nobody.
    where = ["--time=1", f"--partition={node_set.slurm_name}", f"--nodes={size}", "--ntasks-per-node=1"]
    command = ["srun", *where, "hostname"]
    said = "it did not end"
    try:
        async with asyncio.timeout(seconds):
            while True:
                code, said = await run_in_login(cluster, command, namespace=item.metadata.namespace)
                if code == 0:
                    return said.split()
                # A worker is ready a moment before slurmctld has heard of it.
                await asyncio.sleep(_AGAIN)
    except TimeoutError:
        told = f"`{' '.join(command)}` did not succeed within {seconds:.0f} s: {said.strip()}; see penstock status"
        raise NotUp(told) from None


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


def _placed(body: Json) -> Json:
    """An object in the namespace that is meant."""
    metadata = body.get("metadata") or {}
    if not _resource(body).namespaced or metadata.get("namespace"):
        return body
    return {**body, "metadata": {**metadata, "namespace": NAMESPACE}}


__all__ = ["MANAGER", "ClusterError", "NotUp", "answering", "check", "job_on_every_node", "put", "ready"]
