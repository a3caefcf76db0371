"""`penstock up`: a Slurm cluster on this machine, from nothing to a job that has run."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence

from penstock.cli.named import add_name, said
from penstock.cli.objects.complaint import Complaint
from penstock.cli.progress import Progress
from penstock.cli.starting import Begun, start, wanted
from penstock.cluster.errors import ClusterError
from penstock.engine.layout import Layout
from penstock.images.errors import ImageError
from penstock.machine.errors import NotUp, Occupied
from penstock.machine.held import Alive

_READY = 300.0
"""Seconds; the first start of a database takes some, a slow disk many."""
_JOB = 60.0
_THERE = 20.0
"""Seconds until the API of the machine answers; it needs one or two."""
_INTERRUPTED = 130
"""The exit code of what ^C ends."""
_SUITES = ("forky", "trixie")
_EXAMPLES = """\
examples:
  penstock up                        a cluster in the foreground; ^C ends it
  penstock up --detach               the same in the background; `penstock down` ends it
  penstock up --workers 5            with five workers
  penstock up --suite trixie         Slurm 24.11 instead of 26.05
  penstock up --show > mine.yaml     the cluster as manifests, to change and use:
  penstock up --file mine.yaml       your own cluster
  penstock up --cluster lab          a second cluster beside the first
"""


def run(argv: Sequence[str]) -> int:
    """Bring a cluster up; 0 when a job has run on every node."""
    arguments = _parser().parse_args(argv)
    progress = Progress("penstock up")
    try:
        return _up(arguments, progress)
    except (NotUp, ClusterError, Complaint, ImageError, Occupied) as problem:
        progress.end()
        sys.stderr.write(f"penstock up: {problem}\n")
        return 1


def _up(arguments: argparse.Namespace, progress: Progress) -> int:
    layout = Layout.of(arguments.cluster)
    if arguments.show or arguments.systemd_unit:
        sys.stdout.write(_shown(arguments, layout))
        return 0
    if not arguments.detach:
        # Who ends us means the cluster, however they say it.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    begun: Begun | None = None
    try:
        begun = start(arguments, layout, progress)
        _proved(begun, layout, progress)
        from penstock.cli.next_steps import next_steps  # noqa: PLC0415

        sys.stdout.write(next_steps(layout, begun))
        return 0 if arguments.detach else _stay(layout, begun)
    except KeyboardInterrupt:
        return _interrupted(arguments, layout, progress, begun)


def _proved(begun: Begun, layout: Layout, progress: Progress) -> None:
    """Have everything applied, ready, and a job run."""
    _until_there(layout, begun.alive)
    import asyncio  # noqa: PLC0415

    asyncio.run(_bring_up(layout, begun, progress))
    # The nodes of a cluster that runs may be busy with somebody's jobs: only a new start is proved by one of ours.
    proof = "everything is ready" if begun.ran else _proof(asyncio.run(_job(layout, begun, progress)))
    progress.end(f"{proof} ({time.monotonic() - begun.at:.1f} s)")


def _interrupted(arguments: argparse.Namespace, layout: Layout, progress: Progress, begun: Begun | None) -> int:
    """What ^C means: the end of the cluster, unless it was to go on without us, or has not begun."""
    which = said(layout)
    if begun is None:
        progress.end("interrupted before anything was started")
    elif arguments.detach:
        progress.end(f"interrupted; the cluster goes on: see penstock status{which}, or end it: penstock down{which}")
    else:
        progress.end("interrupted; the cluster is taken down")
        _until_known(layout, begun.alive)
        from penstock.cli.down import take_down  # noqa: PLC0415

        take_down(layout, Progress("penstock down"))
    return _INTERRUPTED


def _until_known(layout: Layout, alive: Alive) -> None:
    """Wait until who was just told to begin has said who it is: else nobody could end it."""
    from penstock.machine import process  # noqa: PLC0415

    deadline = time.monotonic() + _THERE
    while alive() and not process.is_kept(layout) and time.monotonic() < deadline:
        time.sleep(0.02)


def _until_there(layout: Layout, alive: Alive) -> None:
    """Wait for the API without loading what talks to it: until then the containers need the processors."""
    deadline = time.monotonic() + _THERE
    while alive() and not layout.socket.exists() and time.monotonic() < deadline:
        time.sleep(0.02)


async def _bring_up(layout: Layout, begun: Begun, progress: Progress) -> None:
    from penstock.cluster.kube import KubeCluster, local  # noqa: PLC0415  (aiohttp: not for --help)
    from penstock.machine import bring_up  # noqa: PLC0415

    try:
        await bring_up.answering(layout.socket, seconds=_THERE, alive=begun.alive)
    except NotUp as problem:
        raise NotUp(f"{problem}; its log is {layout.log}") from problem
    async with KubeCluster(local(layout.socket)) as cluster:
        progress.step("applying the cluster's objects")
        await bring_up.put(cluster, begun.objects, begun.made)
        try:
            await bring_up.ready(cluster, progress.step, seconds=_READY)
        except NotUp as problem:
            which = said(layout)
            raise NotUp(f"{problem}; it goes on: see penstock status{which}, or end it: penstock down{which}") from None


async def _job(layout: Layout, begun: Begun, progress: Progress) -> list[str]:
    from penstock.cluster.kube import KubeCluster, local  # noqa: PLC0415  (aiohttp: not for --help)
    from penstock.machine import bring_up  # noqa: PLC0415
    from penstock.machine.applied import applied  # noqa: PLC0415

    progress.step("running a job on every node")
    namespaces = applied(begun.objects).namespaces
    async with KubeCluster(local(layout.socket)) as cluster:
        return await bring_up.job_on_every_node(cluster, namespaces=namespaces, seconds=_JOB)


def _proof(nodes: list[str]) -> str:
    return (
        f"a job has run on {', '.join(nodes)}" if nodes else "everything is ready; there are no nodes to run a job on"
    )


def _stay(layout: Layout, begun: Begun) -> int:
    """Show how the cluster is until ^C, or until nobody looks after it any more."""
    from penstock.cli.down import take_down  # noqa: PLC0415
    from penstock.cli.status import watch  # noqa: PLC0415
    from penstock.machine.applied import applied  # noqa: PLC0415

    watch(layout, namespaces=applied(begun.objects).namespaces, footer="^C ends the cluster; its data stays")
    return take_down(layout, Progress("penstock down"))


def _shown(arguments: argparse.Namespace, layout: Layout) -> str:
    """What is only to be shown."""
    if arguments.systemd_unit:
        from penstock.machine import systemd  # noqa: PLC0415
        from penstock.machine.ports import Ports  # noqa: PLC0415

        return systemd.unit(layout, Ports.shown(layout, ssh=arguments.ssh_port, rest=arguments.rest_port))
    import yaml  # noqa: PLC0415

    from penstock.machine import manifest  # noqa: PLC0415

    objects, _ = wanted(arguments, layout, manifest.usual_images(arguments.suite))
    return str(yaml.safe_dump_all(objects, sort_keys=False))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock up",
        description="Run a Slurm cluster on this machine: real daemons in containers, no Kubernetes needed.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_argument_group("what")
    what.add_argument("--file", "-f", action="append", metavar="FILE", help="manifests of your own cluster; - is stdin")
    what.add_argument("--workers", type=int, default=2, help="workers of the default cluster (default: %(default)s)")
    what.add_argument("--suite", choices=_SUITES, default=_SUITES[0], help="Debian suite: forky has Slurm 26.05")
    what.add_argument("--show", action="store_true", help="print the cluster as manifests, and start nothing")
    what.add_argument("--systemd-unit", action="store_true", help="print a unit for systemd, and start nothing")
    how = parser.add_argument_group("how")
    add_name(how, "its name")
    how.add_argument("--detach", "-d", action="store_true", help="leave it running in the background")
    how.add_argument("--install", action="store_true", help="install missing Debian packages first")
    how.add_argument("--ssh-port", type=int, help="port of 127.0.0.1 for ssh (default: 2222, or a free one)")
    how.add_argument(
        "--rest-port", type=int, help="port of 127.0.0.1 for Slurm's REST API (default: 6820, or a free one)"
    )
    return parser
