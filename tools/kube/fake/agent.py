"""One agent for all fake nodes: it registers them, keeps them alive, gets their pods ready and lets them go.

It does what the API server sees of a kubelet: pods bound to its nodes become Running and Ready, init containers have
completed, and a deletion with grace is finished. Nothing runs, nothing is probed, no address can be reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from kube.fake.api import connect
from kube.fake.nodes import Nodes
from kube.fake.pods import WORKERS, Pods
from steps import ToolError


def main(kubeconfig: Path, *, count: int) -> None:
    """Play until somebody says stop."""
    try:
        asyncio.run(play(kubeconfig, [f"fake-{number}" for number in range(count)]))
    except KeyboardInterrupt:
        return
    except ExceptionGroup as group:
        if told := group.subgroup(ToolError):
            raise told.exceptions[0] from None
        raise


async def play(kubeconfig: Path, names: Sequence[str]) -> None:
    """Register the nodes, say so in one line, and be their kubelets."""
    async with connect(kubeconfig, connections=WORKERS + 2) as api:
        nodes = Nodes(api, names)
        pods = Pods(api, nodes.addresses)
        await nodes.register()
        print(f"{len(names)} fake nodes are ready", flush=True)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(nodes.stay_alive())
            tasks.create_task(pods.look())
            for _ in range(WORKERS):
                tasks.create_task(pods.work())
