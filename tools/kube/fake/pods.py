"""The pods on the nodes: started when they come, finished when they shall go."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys
from collections.abc import Mapping
from ipaddress import IPv4Address

import msgspec

from kube.fake.api import STRATEGIC, TRANSIENT, Absence, Api, Refused
from kube.fake.objects import Event, Pod, running

WORKERS = 16  # writes under way at once
GONE = (404, 409)  # the second: its name belongs to another pod now, which is told by the uid
FIRST_ADDRESS = IPv4Address("10.128.0.1")


class Pods:
    """All pods on the nodes of the agent."""

    def __init__(self, api: Api, nodes: Mapping[str, str]) -> None:
        self._api = api
        self._nodes = nodes
        self._started: set[str] = set()
        self._ending: set[str] = set()
        self._taken: set[str] = set()
        self._numbers = itertools.count()
        self._queue: asyncio.Queue[Pod] = asyncio.Queue()
        self._all_known = asyncio.Event()

    async def look(self) -> None:
        """Watch the pods that have a node; begin anew whenever the watch ends."""
        events, pods = msgspec.json.Decoder(Event), msgspec.json.Decoder(Pod)
        away = Absence()
        while True:
            watch = self._api.watch("/api/v1/pods", fieldSelector="spec.nodeName!=")
            with contextlib.suppress(*TRANSIENT):
                async for line in watch:
                    event = events.decode(line)
                    if event.type == "ERROR":
                        break
                    self.notice(event.type, pods.decode(event.object))
                    away.over()
            await watch.aclose()
            await away.pause()

    def notice(self, happened: str, pod: Pod) -> None:
        """Decide what an event asks for."""
        if pod.ends_the_beginning:
            self._all_known.set()
        elif happened == "DELETED":
            self._forget(pod)
        elif pod.spec.node_name in self._nodes:
            self._taken.add(pod.status.pod_ip)
            seen = self._ending if pod.leaving else self._started
            if pod.metadata.uid not in seen and (pod.leaving or pod.status.phase == "Pending"):
                seen.add(pod.metadata.uid)
                self._queue.put_nowait(pod)

    def _forget(self, pod: Pod) -> None:
        self._started.discard(pod.metadata.uid)
        self._ending.discard(pod.metadata.uid)
        self._taken.discard(pod.status.pod_ip)

    async def work(self) -> None:
        """Do what was decided, but not before all addresses in use are known."""
        await self._all_known.wait()
        while True:
            pod = await self._queue.get()
            try:
                await (self._finish(pod) if pod.leaving else self._start(pod))
            except Refused as refused:  # the others need not suffer for it
                print(refused, file=sys.stderr, flush=True)

    async def _start(self, pod: Pod) -> None:
        status = running(pod, pod_ip=self._free_address(), host_ip=self._nodes[pod.spec.node_name])
        body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        await self._api.write("PATCH", f"{pod.path}/status", body, STRATEGIC, fine=GONE)

    async def _finish(self, pod: Pod) -> None:
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
        await self._api.write("DELETE", pod.path, body, fine=GONE)

    def _free_address(self) -> str:
        address = next(ip for number in self._numbers if (ip := str(FIRST_ADDRESS + number)) not in self._taken)
        self._taken.add(address)
        return address
