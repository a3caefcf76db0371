"""Machines that NodeSets follow (DaemonSet mode): a rack that simulations fill, empty and cordon, and its story."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from penstock.api.objects import Json
from penstock.cluster.errors import NotFound
from penstock.operator.resources import MACHINES

from .kubernetes import meant_for
from .manifests import Seen, machine, sample
from .story import rest
from .world import World

POOL = "example.org/pool"
RESERVED = {"key": "nodeset.slinky.slurm.net/worker", "effect": "NoExecute"}
"""What a machine for workers is tainted with, so that slurmctld and the others are elsewhere."""


def per_machine() -> list[Json]:
    """The sample, but with a worker on each machine of the pool."""
    documents = sample()
    spec = next(one["spec"] for one in documents if one["kind"] == "NodeSet")
    spec |= {"scalingMode": "DaemonSet", "template": {"spec": {"nodeSelector": {POOL: "workers"}}}}
    return documents


class Rack:
    """Machines for workers. It keeps the books of a promise: two workers for one machine are `doubled`."""

    def __init__(self, here: World) -> None:
        self.here = here
        self.doubled: list[str] = []
        here.sight.subscribe("Pod", self._pod)

    async def comes(self, *names: str) -> None:
        """Machines join the cluster."""
        for name in names:
            body = machine(name, **{POOL: "workers"})
            await self.here.apply([body | {"spec": {"taints": [RESERVED]}}], manager="kubelet")

    async def goes(self, name: str) -> None:
        """A machine dies, and somebody deletes it."""
        with suppress(NotFound):
            await self.here.store.delete(MACHINES, name)

    async def cordon(self, name: str) -> None:
        """What `kubectl cordon` comes to."""
        taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        await self._change(name, {"spec": {"unschedulable": True, "taints": [RESERVED, taint]}})

    async def uncordon(self, name: str) -> None:
        """And what takes it back."""
        await self._change(name, {"spec": {"unschedulable": None, "taints": [RESERVED]}})

    async def taint(self, name: str, key: str) -> None:
        """Drive out who does not tolerate it."""
        await self._change(name, {"spec": {"taints": [RESERVED, {"key": key, "effect": "NoExecute"}]}})

    async def ails(self, name: str, condition: str, message: str) -> None:
        """A machine says that something is wrong with it."""
        told = [{"type": condition, "status": "True", "reason": condition, "message": message}]
        await self.here.store.patch(MACHINES, name, {"status": {"conditions": told}}, manager="d", subresource="status")

    async def moves(self, name: str, pool: str) -> None:
        """A machine is given to another pool."""
        await self._change(name, {"metadata": {"labels": {POOL: pool}}})

    async def _change(self, name: str, patch: Json) -> None:
        await self.here.store.patch(MACHINES, name, patch, manager="kubectl")

    def workers(self) -> dict[str, str]:
        """The uid of the worker of each machine, leaving ones included."""
        return {str(meant_for(pod.spec)): pod.metadata.uid for pod in self.here.sight.workers()}

    async def holds(self, *names: str, within: float = 60.0) -> None:
        """Wait until just these machines have a worker."""
        await self.here.until(lambda: self.workers().keys() == set(names), within=within, what=f"workers on {names}")

    def _pod(self, _old: Seen | None, new: Seen | None) -> None:
        places = [str(meant_for(pod.spec)) for pod in self.here.sight.workers()]
        if new is not None and len(places) != len(set(places)):
            self.doubled.append(f"{new.metadata.name}: {sorted(places)}")


async def on_machines(here: World) -> None:
    """Machines come, are cordoned, are given away and back while jobs run there, die, and come back."""
    rack = Rack(here)
    await rack.comes("rack-0", "rack-1", "rack-2")
    await here.apply(per_machine())
    await rest(here)
    await rack.comes("rack-3")
    await here.until(lambda: len(here.slurm.nodes) == 4, within=300, what="four nodes")
    for number, seconds in enumerate((200, 200, 200, 900)):
        here.slurm.submit(1, seconds, on=f"rack-{number}")
    kept = rack.workers()
    await rack.cordon("rack-0")
    await rack.moves("rack-1", "others")
    await rack.holds("rack-0", "rack-2", "rack-3", within=600)
    assert rack.workers().items() <= kept.items()
    await rack.goes("rack-2")
    await rack.holds("rack-0", "rack-3", within=600)
    await rack.moves("rack-1", "workers")
    await rack.comes("rack-2")
    await rack.uncordon("rack-0")
    await rack.holds("rack-0", "rack-1", "rack-2", "rack-3", within=600)
    await rest(here)
    await asyncio.sleep(900)
    await rest(here)
    assert not rack.doubled
    assert {name: uid for name, uid in rack.workers().items() if name in {"rack-0", "rack-3"}}.items() <= kept.items()
