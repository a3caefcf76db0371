"""The nodes themselves: registered once, and alive as long as their leases are renewed."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from ipaddress import IPv4Address

from kube.fake import objects
from kube.fake.api import MERGE, STRATEGIC, Api

RENEWAL = 10.0  # seconds between two signs of life, as kubelet has it
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
FIRST_ADDRESS = IPv4Address("10.64.0.1")


class Nodes:
    """All nodes of the agent."""

    def __init__(self, api: Api, names: Sequence[str]) -> None:
        self._api = api
        self.addresses = {name: str(FIRST_ADDRESS + number) for number, name in enumerate(names)}

    async def register(self) -> None:
        """Make the nodes, or take over those of an earlier agent, and let pods come to them."""
        await asyncio.gather(*(self._register(name) for name in self.addresses))

    async def _register(self, name: str) -> None:
        await self._api.write("POST", NODES, objects.node(name), fine=[409])
        await self._api.write("POST", LEASES, objects.lease(name), fine=[409])
        status = objects.node_status(name, self.addresses[name])
        await self._api.write("PATCH", f"{NODES}/{name}/status", {"status": status}, STRATEGIC)
        # A new node is born with a taint, which the node controller takes away sooner or later, if there is one.
        await self._api.write("PATCH", f"{NODES}/{name}", {"spec": {"taints": None}}, MERGE)

    async def stay_alive(self) -> None:
        """Renew the leases one after the other, evenly over time."""
        for name in itertools.cycle(self.addresses):
            await self._api.write("PATCH", f"{LEASES}/{name}", objects.lease(name), MERGE)
            await asyncio.sleep(RENEWAL / len(self.addresses))
