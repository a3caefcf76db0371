"""What the cluster says at this moment, for what must not be decided by a watch that may be behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing, contextmanager

from penstock.cluster.errors import NotFound, Refused
from penstock.cluster.pages import pages
from penstock.cluster.port import Cluster, Selection, T
from penstock.cluster.resources import Resource
from penstock.operator.resources import PODS, Pod


async def pods(cluster: Cluster, namespace: str, labels: str) -> list[Pod]:
    """All pods of a namespace with some labels."""
    return await listed(cluster, PODS, namespace, labels)


async def listed(cluster: Cluster, resource: Resource[T], namespace: str, labels: str = "") -> list[T]:
    """All objects of a namespace with some labels."""
    found = list[T]()
    async with aclosing(pages(cluster, resource, Selection(namespace=namespace, labels=labels))) as listing:
        async for page in listing:
            found += page.items
    return found


async def has_left(cluster: Cluster, namespace: str, name: str, uid: str) -> bool:
    """Whether a pod has gone or is about to."""
    try:
        pod = await cluster.get(PODS, name, namespace)
    except NotFound:
        return True
    return pod.leaving or pod.metadata.uid != uid


@contextmanager
def unless_gone() -> Iterator[None]:
    """For patches that name a uid: who has it may go, and another one take its name, at any time."""
    try:
        yield
    except NotFound:
        pass
    except Refused as error:
        if "metadata.uid" not in str(error):
            raise
