"""What others meet of a cluster on one machine: its API, its ports on loopback, and the operator.

Imported only when containers are being started already: this is the larger half of what the daemon imports.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from penstock.cluster.store import Store
from penstock.engine.agent import Agent
from penstock.engine.streams import Streams
from penstock.machine import api
from penstock.machine.forward import forwarding
from penstock.operator.runtime import Operator, Settings
from penstock.slurm.rest.transport import Transport

if TYPE_CHECKING:
    from penstock.machine.daemon import Plan


async def run(plan: Plan, store: Store, agent: Agent, streams: Streams, *, instance: str) -> None:
    """Serve and operate until cancelled."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(api.serve(store, streams, path=plan.layout.socket))
        for forward in plan.forwards:
            await stack.enter_async_context(forwarding(forward, agent))
        operator = Operator(store, Settings(instance=instance), connect=lambda url: Transport(url, dial=agent.dial))
        await operator.run()
