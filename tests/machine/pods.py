"""Pods of tests: small, of the worker's image, gone at the end."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from penstock.api.objects import Json
from penstock.cluster import catalogue
from penstock.cluster.errors import NotFound
from penstock.cluster.kube import KubeCluster
from penstock.cluster.resources import Lean

from .site import NAMESPACE, WORKERS, Site, is_ready

FOREVER = "exec sleep infinity"


def container(name: str, script: str = FOREVER, **fields: Any) -> Json:
    """A container that runs a script of bash."""
    return {"name": name, "command": ["bash", "-c", script], **fields}


@contextmanager
def pod(cluster: Site, name: str, *containers: Json, **spec: Any) -> Iterator[str]:
    """A pod while inside; fields of its spec by their own names."""
    image = cluster.get("nodesets", WORKERS)["spec"]["slurmd"]["image"]
    body: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": name}, "annotations": {"note": "a\nb"}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": list(containers), **spec},
    }
    for one in (*body["spec"]["containers"], *body["spec"].get("initContainers", ())):
        one.setdefault("image", image)
    with objects(cluster, body):
        yield name


@contextmanager
def objects(cluster: Site, *bodies: Json) -> Iterator[None]:
    """Objects while inside."""

    async def create(kube: KubeCluster) -> None:
        for body in bodies:
            body["metadata"].setdefault("namespace", NAMESPACE)
            await kube.create(catalogue.find(body["kind"]).reading(Lean), body)

    async def delete(kube: KubeCluster) -> None:
        for body in bodies:
            with suppress(NotFound):
                await kube.delete(
                    catalogue.find(body["kind"]).reading(Lean), body["metadata"]["name"], namespace=NAMESPACE
                )

    cluster.asked(create)
    try:
        yield
    finally:
        cluster.asked(delete)
        for body in bodies:
            cluster.until(body["kind"], body["metadata"]["name"], lambda found: not found)


def ready(cluster: Site, name: str) -> Json:
    """Wait until a pod is ready."""
    return cluster.until("pods", name, is_ready)


def over(cluster: Site, name: str) -> Json:
    """Wait until a pod has come to its end."""
    return cluster.until("pods", name, lambda body: phase(body) in {"Succeeded", "Failed"})


def phase(body: Json) -> str:
    """The phase of a pod."""
    return str((body.get("status") or {}).get("phase"))


def shown(body: Json, name: str) -> Json:
    """What a pod's status says of a container; nothing when it says nothing."""
    status = body.get("status") or {}
    both = [*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())]
    return next((dict(one) for one in both if one["name"] == name), {})


def config_map(name: str, **data: str) -> Json:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def secret(name: str, **data: str) -> Json:
    """A Secret."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def python(program: str) -> str:
    """A line of bash that runs a program."""
    return f"exec python3 -uc {shlex.quote(program)}"
