"""Into containers through a real API server: the same client, the same words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from penstock.cluster.catalogue import find
from penstock.cluster.errors import NotFound, NotYet, Refused, Unreachable
from penstock.cluster.kube import KubeCluster
from penstock.cluster.kube import find as kubeconfig
from penstock.cluster.resources import Whole
from penstock.cluster.streams import LogOptions
from tests.kube.control_plane import ControlPlane

from .machine import PODS, pod
from .played import gathered
from .played_kubelet import played_kubelet

NAMESPACES = find("ns").reading(Whole)


def run(plane: ControlPlane, test: Callable[[KubeCluster, str], Awaitable[None]]) -> None:
    """Run a test in a namespace of its own."""

    async def main() -> None:
        async with asyncio.timeout(60), KubeCluster(kubeconfig(plane.kubeconfig)) as cluster:
            made = await cluster.create(NAMESPACES, {"metadata": {"generateName": "streams-"}})
            await test(cluster, made.metadata.name)
            await cluster.delete(NAMESPACES, made.metadata.name)

    asyncio.run(main())


async def _make(cluster: KubeCluster, namespace: str, name: str, **spec: object) -> None:
    body = pod(name, terminationGracePeriodSeconds=0, **spec)
    await cluster.create(PODS, {**body, "metadata": {"name": name, "namespace": namespace}})


def test_where_there_is_nothing_nothing_is_reached(control_plane: ControlPlane) -> None:
    async def test(cluster: KubeCluster, namespace: str) -> None:
        await _make(cluster, namespace, "early", schedulerName="nobody")
        with pytest.raises(NotFound, match='pods "none" not found'):
            await cluster.execute("none", namespace=namespace, container="main", command=["ls"])
        with pytest.raises(NotFound, match='pods "none" not found'):
            await cluster.forward("none", namespace=namespace, port=80)
        with pytest.raises(NotFound, match='pods "none" not found'):
            await gathered(cluster.read_log("none", namespace=namespace, container="main"))
        with pytest.raises(Refused, match="a container name must be specified for pod early"):
            await cluster.execute("early", namespace=namespace, container="", command=["ls"])
        with pytest.raises(NotFound, match="container none is not valid for pod early"):
            await cluster.execute("early", namespace=namespace, container="none", command=["ls"])
        with pytest.raises(NotYet):
            await gathered(cluster.read_log("early", namespace=namespace, container="main"))

    run(control_plane, test)


def test_a_port_is_forwarded_to_kubelet_and_back(control_plane: ControlPlane) -> None:
    async def test(cluster: KubeCluster, namespace: str) -> None:
        async with played_kubelet(cluster, f"machine-of-{namespace}"):
            await _make(cluster, namespace, "pod", nodeName=f"machine-of-{namespace}")
            wire = await cluster.forward("pod", namespace=namespace, port=8080)
            await wire.send(b"hello")
            assert await wire.receive() == b"HELLO"
            await wire.send(b"?")
            with pytest.raises(Unreachable, match="nobody listens"):
                await wire.receive()
            await wire.close()

    run(control_plane, test)


def test_the_options_of_a_log_reach_kubelet(control_plane: ControlPlane) -> None:
    options = LogOptions(follow=True, tail=5, since_seconds=9, timestamps=True, limit_bytes=77)

    async def test(cluster: KubeCluster, namespace: str) -> None:
        async with played_kubelet(cluster, f"machine-of-{namespace}"):
            await _make(cluster, namespace, "pod", nodeName=f"machine-of-{namespace}")
            log = await gathered(cluster.read_log("pod", namespace=namespace, container="main", options=options))
            assert log.decode().split() == [
                *("follow=true", "limitBytes=77", "sinceSeconds=9", "tailLines=5", "timestamps=true")
            ]

    run(control_plane, test)
