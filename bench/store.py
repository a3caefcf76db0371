"""How fast the store is: 5,000 pods made, watched, listed and deleted, in memory and on SQLite."""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from penstock.api.objects import Json
from penstock.cluster.port import EventType, Selection
from penstock.cluster.resources import Lean, Resource
from penstock.cluster.store import Store

_PODS = 5_000
_WRITERS = 64
"""Writes under way at once, about as many as an operator has."""
_PAGE = 500
_RESOURCE = Resource("", "v1", "pods", "Pod", Lean)
_ENVIRONMENT = [{"name": f"VARIABLE_{number}", "value": "some value of some length"} for number in range(12)]
_MOUNTS = [{"name": f"volume-{number}", "mountPath": f"/mnt/volume-{number}"} for number in range(8)]


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as directory:
        for name, path in (("memory", None), ("SQLite", Path(directory) / "store.db")):
            asyncio.run(_measure(name, path))
    _say(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")
    return 0


async def _measure(name: str, path: Path | None) -> None:
    _say(f"\n{name}, {_PODS} pods")
    async with Store(path) as store:
        watching = asyncio.create_task(_watch(store))
        await asyncio.sleep(0)
        await _timed("created, one after the other", _PODS // 10, lambda: _create(store, "first", _PODS // 10, 1))
        await _timed(f"created, {_WRITERS} at once", _PODS, lambda: _create(store, "pod", _PODS, _WRITERS))
        await _timed(f"patched, {_WRITERS} at once", _PODS, lambda: _patch(store))
        await _timed("applied, a second manager comes", _PODS, lambda: _apply(store))
        await _timed("applied again, nothing changes", _PODS, lambda: _apply(store))
        await _timed(f"listed, pages of {_PAGE}", _PODS, lambda: _list(store, Selection()))
        await _timed("listed by label", 100, lambda: _list(store, Selection(labels="even=yes,app=slurmd")))
        await _timed(f"deleted, {_WRITERS} at once", _PODS, lambda: _delete(store))
        _say(f"  the watcher saw every one: {await watching} events")
    if path is not None:
        await _timed("opened again", 1, lambda: _open(path))


async def _timed(what: str, count: int, work: Callable[[], Awaitable[None]]) -> None:
    started = time.perf_counter()
    await work()
    seconds = time.perf_counter() - started
    _say(f"  {what:<34}{seconds:8.3f} s {count / seconds:12,.0f} /s")


async def _watch(store: Store) -> int:
    """Count events until all pods are gone again."""
    seen = left = 0
    async for event in store.watch(_RESOURCE, since="0"):
        seen += event.type is not EventType.BOOKMARK
        left += (event.type is EventType.ADDED) - (event.type is EventType.DELETED)
        if event.type is EventType.DELETED and left == _PODS // 10:
            break
    return seen


async def _create(store: Store, prefix: str, count: int, writers: int) -> None:
    await _all(count, writers, lambda number: store.create(_RESOURCE, _pod(f"{prefix}-{number}")))


async def _patch(store: Store) -> None:
    status = {"status": {"phase": "Running", "podIP": "10.0.0.1"}}
    await _all(
        _PODS,
        _WRITERS,
        lambda number: store.patch(_RESOURCE, f"pod-{number}", status, namespace="bench", subresource="status"),
    )


async def _apply(store: Store) -> None:
    await _all(_PODS, _WRITERS, lambda number: store.apply(_RESOURCE, _pod(f"pod-{number}")))


async def _delete(store: Store) -> None:
    await _all(_PODS, _WRITERS, lambda number: store.delete(_RESOURCE, f"pod-{number}", namespace="bench"))


async def _all(count: int, writers: int, work: Callable[[int], Awaitable[object]]) -> None:
    async def writer(first: int) -> None:
        for number in range(first, count, writers):
            await work(number)

    await asyncio.gather(*(writer(first) for first in range(writers)))


async def _list(store: Store, where: Selection) -> None:
    token = ""
    while True:
        page = await store.list(_RESOURCE, where, limit=_PAGE, continue_token=token)
        token = page.continue_token
        if not token:
            return


async def _open(path: Path) -> None:
    async with Store(path):
        pass


def _pod(name: str) -> Json:
    labels = {"app": "slurmd", "pod": name, "even": "yes" if name.endswith("0") else "no"}
    container = {"name": "slurmd", "image": "slurmd:26.05", "env": _ENVIRONMENT, "volumeMounts": _MOUNTS}
    spec = {"containers": [container], "volumes": [{"name": mount["name"], "emptyDir": {}} for mount in _MOUNTS]}
    return {"metadata": {"name": name, "namespace": "bench", "labels": labels}, "spec": spec}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
