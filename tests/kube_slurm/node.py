"""A machine of a real cluster, with the engine of one machine as its kubelet: pods of the API server really run.

    python -m tests.kube_slurm.node KUBECONFIG DIRECTORY IMAGES PORT

prints a line when it is ready. PORT of loopback leads to slurmrestd, for an operator outside of the cluster. What the
API server asks of a kubelet (logs, exec) is not served; whoever needs that looks at the containers themselves.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from kube.fake.api import connect
from kube.fake.nodes import Nodes
from penstock.cluster.kube import KubeCluster, find
from penstock.engine.agent import Agent, Means
from penstock.engine.layout import Layout
from penstock.images.library import Library
from penstock.machine.forward import Forward, forwarding

MACHINE = "node-0"


async def play(kubeconfig: Path, layout: Layout, images: Path, port: int) -> None:
    """Run the pods of the machine until told to stop; then end them."""
    over = asyncio.Event()
    for which in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(which, over.set)
    layout.make()
    async with AsyncExitStack() as stack:
        nodes = Nodes(await stack.enter_async_context(connect(kubeconfig, connections=2)), [MACHINE])
        cluster = await stack.enter_async_context(KubeCluster(find(kubeconfig)))

        def claimed(namespace: str, claim: str) -> Path:
            path = layout.claims / namespace / claim
            path.mkdir(parents=True, exist_ok=True)
            return path

        agent = Agent(Means(cluster=cluster, layout=layout, machine=MACHINE, find=Library(images).find, claims=claimed))
        await nodes.register()
        begin = asyncio.Event()
        begin.set()
        tasks = [asyncio.create_task(nodes.stay_alive()), asyncio.create_task(agent.run(begin))]
        await stack.enter_async_context(forwarding(Forward(port=port, app="slurmrestd", target=6820), agent))
        print(f"{MACHINE} is ready", flush=True)
        ended = asyncio.create_task(over.wait())
        await asyncio.wait([ended, *tasks], return_when=asyncio.FIRST_COMPLETED)
        await agent.halt(10)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def layout_in(directory: Path, name: str) -> Layout:
    """Where the machine has its things."""
    return Layout(cluster=name, state=directory / "state/clusters" / name, run=directory / "run" / name)


if __name__ == "__main__":
    config, place, library, number = sys.argv[1:]
    asyncio.run(play(Path(config), layout_in(Path(place), "kube"), Path(library), int(number)))
