"""Slurm commands where Slurm's users run them: in a login pod."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from penstock.cluster.errors import NotFound, NotYet
from penstock.cluster.kube import KubeCluster
from penstock.cluster.port import Cluster, Selection
from penstock.cluster.resources import Resource, Whole
from penstock.render import labels

_PODS: Resource[Whole] = Resource("", "v1", "pods", "Pod", Whole)
LOGIN = "login"
"""The container of a login pod in which people are."""


async def login_pod(cluster: Cluster, *, namespace: str) -> str:
    """A login pod that is ready."""
    found = (await cluster.list(_PODS, Selection(namespace=namespace, labels=f"{labels.NAME}={LOGIN}"))).items
    if not found:
        raise NotFound(f"namespace {namespace} has no login pod; make a LoginSet, or name another with -n")
    ready = [pod.metadata.name for pod in found if _is_ready(pod)]
    if not ready:
        raise NotYet(f"no login pod in namespace {namespace} is ready yet; see penstock status")
    return min(ready)


async def run_in_login(cluster: KubeCluster, command: Sequence[str], *, namespace: str) -> tuple[int, str]:
    """Run a command in a login pod to its end; its exit code and what it said."""
    pod = await login_pod(cluster, namespace=namespace)
    session = await cluster.execute(pod, namespace=namespace, container=LOGIN, command=command)
    try:
        output, errors, code = await asyncio.gather(_all(session.stdout), _all(session.stderr), session.wait())
    finally:
        await session.close()
    return code, (output if code == 0 else output + errors).decode(errors="replace")


async def _all(blocks: AsyncIterator[bytes]) -> bytes:
    return b"".join([block async for block in blocks])


def _is_ready(pod: Whole) -> bool:
    conditions = pod.status.get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
