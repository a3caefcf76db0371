"""A cluster that is read as it is and not written to: each write is told instead, as a line that a person can read.

What can be tried without effect is: the server is asked to create and apply as a dry run, so its defaults and its
refusals are real. Nothing of it stays, so what comes next sees the cluster as it was: a patch of something that was
only made in the rehearsal is `NotFound`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock.api.objects import Json
from penstock.cluster.errors import ClusterError
from penstock.cluster.port import ALWAYS, MANAGER, Cluster, Preconditions, Propagation, T
from penstock.cluster.resources import Resource
from penstock.cluster.wrapper import Wrapper


class Rehearsal(Wrapper):
    """A `Cluster` that reads really and writes nothing: `tell` hears `apply StatefulSet slurm/c-controller`."""

    def __init__(self, cluster: Cluster, tell: Callable[[str], None]) -> None:
        super().__init__(cluster)
        self._tell = tell

    async def create(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, dry_run: bool = False) -> T:
        """Tell that an object would be made; the object as the server would make it."""
        with self._tried(f"create {_named(resource, body)}", asked=not dry_run):
            return await self._cluster.create(resource, body, manager=manager, dry_run=True)

    async def apply(
        self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True, dry_run: bool = False
    ) -> T:
        """Tell that an object would be applied; the object as the server would have it then."""
        with self._tried(f"apply {_named(resource, body)}", asked=not dry_run):
            return await self._cluster.apply(resource, body, manager=manager, force=force, dry_run=True)

    async def apply_status(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True) -> T:
        """Tell that a status would be applied; the object as it is."""
        del manager, force
        self._tell(f"apply status of {_named(resource, body)}")
        return await self._cluster.get(resource, body["metadata"]["name"], body["metadata"].get("namespace", ""))

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Json,
        *,
        namespace: str = "",
        subresource: str = "",
        manager: str = MANAGER,
    ) -> T:
        """Tell what would be patched, in which fields; the object as it is."""
        del manager
        door = f"{subresource} of " if subresource else ""
        self._tell(f"patch {door}{_called(resource.kind, name, namespace)} ({', '.join(_fields(patch))})")
        return await self._cluster.get(resource, name, namespace)

    async def scale(self, resource: Resource[T], name: str, replicas: int, *, namespace: str = "") -> None:
        """Tell which size would be set."""
        self._tell(f"scale {_called(resource.kind, name, namespace)} to {replicas}")

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        only_if: Preconditions = ALWAYS,
        propagation: Propagation = Propagation.BACKGROUND,
        grace_seconds: int | None = None,
    ) -> None:
        """Tell what would be deleted, and how, where that is not as usual."""
        how = [] if propagation is Propagation.BACKGROUND else [propagation.value]
        how += [] if grace_seconds is None else [f"grace {grace_seconds} s"]
        self._tell(f"delete {_called(resource.kind, name, namespace)}{_on(only_if, *how)}")

    async def evict(self, name: str, *, namespace: str, only_if: Preconditions = ALWAYS) -> None:
        """Tell which pod would be asked to go."""
        self._tell(f"evict {_called('Pod', name, namespace)}{_on(only_if)}")

    @contextmanager
    def _tried(self, line: str, *, asked: bool) -> Iterator[None]:
        """Tell of a write that is tried; not of one that was meant as a dry run in the first place."""
        try:
            yield
        except ClusterError as error:
            line = f"{line}: would fail: {error}"
            raise
        finally:
            if asked:
                self._tell(line)


def _named(resource: Resource[T], body: Json) -> str:
    metadata = body["metadata"]
    name = metadata.get("name") or f"{metadata.get('generateName', '')}…"
    return _called(resource.kind, name, metadata.get("namespace", ""))


def _called(kind: str, name: str, namespace: str) -> str:
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def _on(only_if: Preconditions, *how: str) -> str:
    """On which conditions, and how."""
    terms = [*([f"uid {only_if.uid}"] if only_if.uid else []), *how]
    return f" ({', '.join(terms)})" if terms else ""


def _fields(patch: Json, path: str = "") -> Iterator[str]:
    """The fields that a patch changes; not what it makes of them, which may be a secret."""
    for name, value in patch.items():
        if isinstance(value, dict) and value:
            yield from _fields(value, f"{path}{name}.")
        else:
            yield f"{path}{name}"
