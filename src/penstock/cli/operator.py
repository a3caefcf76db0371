"""`penstock operator`: run the operator, in a pod or with a kubeconfig."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import logging
import os
import signal
import socket
import sys
import uuid
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from penstock.cluster.errors import ClusterError
from penstock.cluster.groups import TaskGroup
from penstock.cluster.kube import Connection, KubeCluster, find
from penstock.cluster.leader import Election, Terms
from penstock.cluster.metered import Metered
from penstock.operator.health import serving
from penstock.operator.metrics import Metrics
from penstock.operator.runtime import Operator, Settings
from penstock.operator.slurm_links import Locate
from penstock.render.names import Domain
from penstock.slurm import tokens

_LOG = logging.getLogger(__name__)
_LEASE = "penstock-operator"
_MMAP_THRESHOLD = -3
"""glibc's number for it, M_MMAP_THRESHOLD."""
_EXAMPLES = """\
examples:
  penstock operator                                        in a pod: all namespaces
  penstock operator --namespaces slurm,lab                 only these
  penstock operator --kubeconfig ~/.kube/config --dry-run  show what it would do, and do nothing
  penstock operator --leader-elect --health-address :8081 --metrics-address :8080
"""


def run(argv: Sequence[str]) -> int:
    """Run until told to stop."""
    arguments = parser().parse_args(argv)
    level = logging.DEBUG if arguments.verbose else logging.INFO
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    _give_back_large_blocks()
    try:
        connection = find(arguments.kubeconfig, context=arguments.context)
        asyncio.run(_rehearse(arguments, connection) if arguments.dry_run else _operate(arguments, connection))
    except ClusterError as problem:
        sys.stderr.write(f"penstock operator: {problem}\n")
        return 2
    return 0


def _give_back_large_blocks() -> None:
    """Have glibc map large blocks one by one: what an answer of megabytes took is not ours for ever then."""
    with suppress(OSError, AttributeError):  # another libc has other ways
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 18)


async def _rehearse(arguments: argparse.Namespace, connection: Connection) -> None:
    told = 0

    def tell(line: str) -> None:
        nonlocal told
        told += 1
        sys.stdout.write(f"{line}\n")

    async with KubeCluster(connection) as cluster:
        await Operator(cluster, settings(arguments), locate=_locate(arguments), rehearsal=tell).rehearse(tell)
    sys.stderr.write(f"{told} writes would be made now; nothing was changed.\n")


async def _operate(arguments: argparse.Namespace, connection: Connection) -> None:
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        kube = await stack.enter_async_context(KubeCluster(connection))
        # The lease has connections of its own: however much there is to write, its renewal never waits in that queue.
        lease = await stack.enter_async_context(KubeCluster(connection))
        cluster = Metered(kube, metrics.called)

        def election(on_lost: Callable[[], None]) -> Election:
            namespace = arguments.leader_elect_namespace or connection.namespace
            return Election(
                Metered(lease, metrics.called), name=_LEASE, namespace=namespace, identity=_identity(),
                on_lost=on_lost, terms=_terms(arguments.lease_duration),
            )  # fmt: skip

        operator = Operator(
            cluster, settings(arguments), election=election if arguments.leader_elect else None,
            locate=_locate(arguments), metrics=metrics,
        )  # fmt: skip
        for address in dict.fromkeys(filter(None, (arguments.health_address, arguments.metrics_address))):
            port = await stack.enter_async_context(
                serving(address, ready=lambda: operator.trouble, metrics=metrics.page)
            )
            _LOG.info("health and metrics at %s:%d", address.rpartition(":")[0], port)
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, operator.stop)
        async with TaskGroup() as group:
            # Done while the first listing is waited for, and not by the first look, which others wait for.
            group.create_task(asyncio.to_thread(tokens.prepare))
            await operator.run()


def settings(arguments: argparse.Namespace) -> Settings:
    """How the operator runs that somebody asked for."""
    return Settings(
        namespaces=tuple(filter(None, arguments.namespaces.split(","))),
        workers=arguments.workers,
        domain=Domain(arguments.cluster_domain),
        instance=socket.gethostname(),
        propagated_node_conditions=tuple(filter(None, arguments.propagated_node_conditions.split(","))),
    )


def _locate(arguments: argparse.Namespace) -> Locate | None:
    if not arguments.slurmrestd:
        return None
    return lambda rest_api: arguments.slurmrestd.format(
        name=rest_api.metadata.name, namespace=rest_api.metadata.namespace
    )


def _terms(duration: int) -> Terms:
    """The holder stops writing when two thirds of a lease are over, and renews it often enough for that never to be."""
    return Terms(duration=duration, margin=duration / 3, interval=duration / 7.5)


def _identity() -> str:
    """Nobody else's, not even ours before a restart."""
    return f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4()}"


def _lease_seconds(text: str) -> int:
    if not text.isdecimal() or not 2 <= int(text) <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of seconds from 2 to 3600")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """What `penstock operator` understands."""
    made = argparse.ArgumentParser(
        prog="penstock operator",
        description="Run the operator: keep Slurm clusters as their objects in Kubernetes say.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = made.add_argument_group("where")
    where.add_argument("--kubeconfig", type=Path, help="kubeconfig file (default: $KUBECONFIG, the pod's own account)")
    where.add_argument("--context", help="context of the kubeconfig (default: its current one)")
    where.add_argument("--namespaces", default="", metavar="NAME,...", help="namespaces to look after (default: all)")
    where.add_argument("--cluster-domain", default="cluster.local", help="DNS domain (default: %(default)s)")
    where.add_argument(
        "--slurmrestd",
        metavar="URL",
        help="where slurmrestd is reached instead of at its Service, for an operator outside of the cluster; "
        "{name} and {namespace} stand for the RestApi's",
    )
    how = made.add_argument_group("how")
    how.add_argument("--dry-run", action="store_true", help="print what it would do now, change nothing, and end")
    how.add_argument("--leader-elect", action="store_true", help="of several operators let only one write")
    how.add_argument("--leader-elect-namespace", metavar="NAME", help="namespace of the lease (default: our own)")
    how.add_argument(
        "--lease-duration",
        type=_lease_seconds,
        default=15,
        metavar="SECONDS",
        help="after so long without a sign of the leader another one takes over (default: %(default)s)",
    )
    how.add_argument("--workers", type=int, default=4, help="objects worked on at a time (default: %(default)s)")
    how.add_argument(
        "--propagated-node-conditions",
        default="",
        metavar="TYPE,...",
        help="conditions of a cordoned machine that Slurm is told as the reason of the drain (default: none)",
    )
    how.add_argument("--health-address", metavar="HOST:PORT", help="serve /livez and /readyz here")
    how.add_argument("--metrics-address", metavar="HOST:PORT", help="serve /metrics here")
    how.add_argument("-v", "--verbose", action="store_true", help="tell more in the log")
    return made
