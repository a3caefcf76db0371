"""The pod, and the container in it, that somebody wants to reach into."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from penstock.cluster.catalogue import find
from penstock.cluster.errors import NotFound, NotYet, Refused
from penstock.cluster.resources import Lean
from penstock.cluster.store import Store
from penstock.machine.api.address import Target

_DEFAULT = "kubectl.kubernetes.io/default-container"


class _Container(msgspec.Struct, frozen=True):
    name: str


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()
    ephemeral_containers: tuple[_Container, ...] = ()
    node_name: str = ""


class _Pod(Lean, frozen=True):
    spec: _Spec = _Spec()


_PODS = find("pods").reading(_Pod)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A container of a pod that is on a machine."""

    pod: str
    namespace: str
    container: str


async def place(store: Store, target: Target, container: str = "", *, whichever: bool = False) -> Place:
    """The container that is meant; `NotFound` when there is none, `NotYet` while its pod is on no machine."""
    pod = await store.get(_PODS, target.name, target.namespace or "")
    container = "" if whichever else _named(pod, container)
    if not pod.spec.node_name:
        who = f'container "{container}" in pod "{target.name}"' if container else f'pod "{target.name}"'
        raise NotYet(f"{who} is waiting to start: no machine has the pod yet")
    return Place(pod=target.name, namespace=target.namespace or "", container=container)


def _named(pod: _Pod, asked: str) -> str:
    spec, name = pod.spec, pod.metadata.name
    main = [one.name for one in spec.containers]
    if not asked and len(main) > 1 and _DEFAULT not in pod.metadata.annotations:
        raise Refused(f"a container name must be specified for pod {name}, choose one of: {main}")
    wanted = asked or pod.metadata.annotations.get(_DEFAULT) or next(iter(main), "")
    every = (*spec.containers, *spec.init_containers, *spec.ephemeral_containers)
    if wanted not in {one.name for one in every}:
        raise NotFound(f"container {wanted} is not valid for pod {name}")
    return wanted
