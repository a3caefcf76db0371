"""A program that lists all pods of a namespace once, page by page, and ends: what no operator's start can go below.

    .venv/bin/python bench/operators/raw_list.py KUBECONFIG NAMESPACE

It is started as the operator is, so that both pay for the interpreter.
"""

import asyncio
import sys
from pathlib import Path

from penstock.cluster.kube import KubeCluster, find
from penstock.cluster.port import Selection
from penstock.cluster.resources import Lean, Resource

_PODS = Resource("", "v1", "pods", "Pod", Lean)


async def main(kubeconfig: Path, namespace: str) -> None:
    """List to the last page."""
    async with KubeCluster(find(kubeconfig)) as cluster:
        page = await cluster.list(_PODS, Selection(namespace=namespace), limit=500)
        while token := page.continue_token:
            page = await cluster.list(_PODS, Selection(namespace=namespace), limit=500, continue_token=token)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
