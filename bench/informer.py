"""How much a copy of 5,000 and of 10,000 pods costs: to fill it, to follow events, to hold it.

The server is a process of its own that sends bytes made beforehand, so the figures are the client's. Beside the
informer a raw paged list reads the same pages over the same kind of connection and throws them away: what no client
can go below. Each measurement is a fresh process. `python bench/informer.py [pods ...]`
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import msgspec

from penstock.cluster.index import owners
from penstock.cluster.informer import Informer
from penstock.cluster.kube import Connection, KubeCluster
from penstock.cluster.kube.identity import Fixed, Identity
from penstock.cluster.kube.tls import Trust
from penstock.cluster.resources import Lean, Resource

_PAGE = 500
_EVENTS = 20_000
_ROUNDS = 3


class PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where a pod runs."""

    node_name: str = ""


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One thing that is said of a pod."""

    type: str
    status: str


class PodStatus(msgspec.Struct, frozen=True, rename="camel"):
    """How a pod is."""

    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()


class Pod(Lean, frozen=True):
    """A worker as a reconciler reads it."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


PODS = Resource("", "v1", "pods", "Pod", Pod)


def main(counts: list[int]) -> int:
    """Measure and print."""
    sys.stdout.write(
        f"{'pods':>6} {'':<10} {'sync CPU s':>10} {'sync wall s':>11} {'events/CPU s':>12} {'RSS MB':>7}\n"
    )
    for count in counts:
        with subprocess.Popen(
            [sys.executable, __file__, "serve", str(count)], stdout=subprocess.PIPE, text=True
        ) as server:
            port = server.stdout.readline().strip() if server.stdout else ""
            raw, copy = _best("raw", port, count), _best("copy", port, count)
            server.kill()
        _row(count, "raw list", raw)
        _row(count, "informer", copy)
        ratios = [
            f"{name} {copy[key] / raw[key]:.2f}" for name, key in (("CPU", "cpu"), ("wall", "wall"), ("RSS", "rss"))
        ]
        sys.stdout.write(f"{'':>6} {'ratio':<10} {', '.join(ratios)}\n")
    return 0


def _best(role: str, port: str, count: int) -> dict[str, float]:
    """The best of several processes, figure by figure: the others were disturbed."""
    runs = [
        json.loads(subprocess.check_output([sys.executable, __file__, role, port, str(count)])) for _ in range(_ROUNDS)
    ]
    return {key: (max if key == "rate" else min)(run[key] for run in runs) for key in runs[0]}


def _row(count: int, name: str, run: dict[str, float]) -> None:
    rate = f"{run['rate']:12,.0f}" if "rate" in run else " " * 12
    sys.stdout.write(f"{count:>6} {name:<10} {run['cpu']:10.3f} {run['wall']:11.3f} {rate} {run['rss']:7.1f}\n")


async def raw_list(port: str, count: int) -> dict[str, float]:
    """Read every page, keep nothing."""
    wall, cpu, token = time.perf_counter(), time.process_time(), "0"
    async with aiohttp.ClientSession() as session:
        while int(token) < count:
            url = f"http://127.0.0.1:{port}/api/v1/pods?limit={_PAGE}&continue={token}"
            async with session.get(url, headers={"Accept-Encoding": "identity"}) as response:
                await response.read()
            token = str(int(token) + _PAGE)
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "rss": _rss()}


async def copy(port: str, count: int) -> dict[str, float]:
    """Fill an informer, then let it follow events."""
    connection = Connection(server=f"http://127.0.0.1:{port}", credentials=Fixed(Identity(Trust().context())))
    seen, done = 0, asyncio.Event()

    def note(old: Pod | None, _: Pod | None) -> None:
        nonlocal seen
        seen += old is not None
        if seen == _EVENTS:
            done.set()

    async with KubeCluster(connection) as cluster, asyncio.TaskGroup() as group:
        informer = Informer(cluster, PODS, indexes={"owner": owners, "node": lambda pod: (pod.spec.node_name,)})
        informer.subscribe(note)
        wall, cpu = time.perf_counter(), time.process_time()
        task = group.create_task(informer.run())
        await informer.synced.wait()
        synced = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        gc.collect()
        gc.freeze()
        cpu = time.process_time()
        await done.wait()
        rate = _EVENTS / (time.process_time() - cpu)
        if not count == len(informer.all()) == len(informer.by("owner", "uid-of-the-set")):
            raise RuntimeError(f"the copy has {len(informer.all())} pods instead of {count}")
        task.cancel()
    return synced | {"rate": rate, "rss": _rss()}


def _rss() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


async def serve(count: int) -> None:
    """Answer lists and watches of pods with bytes made beforehand."""
    pods = [json.dumps(_pod(number, 1 + number)).encode() for number in range(count)]
    pages = [_page(pods, start) for start in range(0, count, _PAGE)]
    stream = b"".join(_chunk(_event(number, count)) for number in range(_EVENTS))
    del pods

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode():
            query = parse_qs(urlsplit(head.split()[1]).query)
            if "watch" in query:
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                writer.write(stream)
            else:
                body = pages[int(query.get("continue", ["0"])[0]) // _PAGE]
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
                writer.write(body)
            await writer.drain()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


def _page(pods: list[bytes], start: int) -> bytes:
    more = str(start + _PAGE) if start + _PAGE < len(pods) else ""
    head = json.dumps({"kind": "PodList", "metadata": {"resourceVersion": str(len(pods)), "continue": more}})
    return head.encode()[:-1] + b', "items": [' + b",".join(pods[start : start + _PAGE]) + b"]}"


def _event(number: int, count: int) -> bytes:
    body = _pod(number % count, count + 1 + number)
    return json.dumps({"type": "MODIFIED", "object": body}).encode() + b"\n"


def _chunk(line: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(line), line)


def _pod(number: int, version: int) -> dict[str, Any]:
    """A slurmd pod as an API server gives it: 9.6 kB, of which we want a few hundred bytes."""
    name = f"slurm-worker-compute-{number}"
    owner = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "name": "compute", "uid": "uid-of-the-set"}
    labels = {f"app.kubernetes.io/{key}": f"slurm-{key}" for key in ("name", "instance", "component", "part-of")}
    metadata = {
        "name": name,
        "namespace": "slurm",
        "uid": f"00000000-0000-4000-8000-{number:012}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-11-15T12:00:00Z",
        "labels": labels | {"nodeset.slinky.slurm.net/pod-index": str(number)},
        "annotations": {"nodeset.slinky.slurm.net/node-cordon-source-time": "2026-11-15T12:00:00Z"},
        "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
        "managedFields": [
            {"manager": "penstock", "operation": "Apply", "fieldsV1": {f"f:field-{n}": {} for n in range(110)}}
        ],
    }
    env = [{"name": f"VARIABLE_{n}", "value": f"a value of some length, number {n}"} for n in range(20)]
    mounts = [{"name": f"volume-{n}", "mountPath": f"/var/lib/slurm/mount-{n}", "readOnly": True} for n in range(12)]
    volumes = [
        {"name": f"volume-{n}", "configMap": {"name": f"slurm-config-{n}", "defaultMode": 420}} for n in range(12)
    ]
    container = {"name": "slurmd", "image": "ghcr.io/x/slurmd:26.05", "env": env, "volumeMounts": mounts}
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-11-15T12:00:00Z"}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    spec = {
        "nodeName": f"machine-{number % 50}",
        "containers": [container, container | {"name": "log"}],
        "volumes": volumes,
    }
    status = {
        "phase": "Running",
        "podIP": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",
        "conditions": conditions,
    }
    return {"metadata": metadata, "spec": spec, "status": status}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", pods]:
            asyncio.run(serve(int(pods)))
        case ["raw", port, pods]:
            sys.stdout.write(json.dumps(asyncio.run(raw_list(port, int(pods)))))
        case ["copy", port, pods]:
            sys.stdout.write(json.dumps(asyncio.run(copy(port, int(pods)))))
        case counts:
            raise SystemExit(main([int(count) for count in counts] or [5_000, 10_000]))
