"""`penstock up`: a Slurm cluster on this machine, from nothing to a job that has run."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from penstock.cli.named import add_name
from penstock.cli.objects.complaint import Complaint
from penstock.cli.progress import Progress
from penstock.cluster.errors import ClusterError
from penstock.engine import cgroups
from penstock.engine.layout import Layout
from penstock.images.errors import ImageError
from penstock.machine import checks, held
from penstock.machine.errors import NotUp, Occupied
from penstock.machine.held import Alive

if TYPE_CHECKING:
    from penstock.api.objects import Json
    from penstock.machine.ports import Ports

_READY = 300.0
"""Seconds; the first start of a database takes some, a slow disk many."""
_JOB = 60.0
_THERE = 20.0
"""Seconds until the API of the machine answers; it needs one or two."""
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
    if arguments.install and (packages := checks.missing_packages()):
        progress.step(f"installing {', '.join(packages)}")
        _install(packages)
    _check(checks.problems())
    with _beginning(layout) as begin:
        from penstock.machine import process  # noqa: PLC0415
        from penstock.machine.ports import Ports  # noqa: PLC0415

        # One that is being started again counts as well: it has its ports.
        running = process.found(layout) or process.found(layout, "supervise")
        find_ports = Ports.served if running else Ports.chosen
        ports = find_ports(layout, ssh=arguments.ssh_port, rest=arguments.rest_port)
        _check([] if running else checks.busy(ports.taken()))
        objects, made = _objects(arguments, layout, _built(arguments, progress))
        began = time.monotonic()
        progress.step("starting")
        _give_policies(layout)
        alive = begin(ports.words())
    _until_there(layout, alive)
    import asyncio  # noqa: PLC0415

    asyncio.run(_bring_up(layout, objects, made, progress, alive))
    # The nodes of a cluster that runs may be busy with somebody's jobs: only a new start is proved by one of ours.
    proof = "everything is ready" if running else _proof(asyncio.run(_job(layout, progress)))
    progress.end(f"{proof} ({time.monotonic() - began:.1f} s)")
    # Two who began it at once asked for different ports; one of them has it.
    sys.stdout.write(_next_steps(arguments, layout, Ports.kept(layout) or ports))
    return 0 if arguments.detach else _stay(layout)


def _beginning(layout: Layout) -> AbstractContextManager[Callable[[Sequence[str]], Alive]]:
    """How to have somebody look after the cluster, told these words; a call does it, and gives whether they still do.

    Where nobody does, whoever will is loaded while we find out whether they can.
    """
    if not layout.run.exists():  # as `penstock down` and a reboot leave it
        return held.held_back(layout)
    from penstock.machine import process  # noqa: PLC0415

    if process.is_kept(layout):
        return nullcontext(lambda _words: lambda: True)
    if process.found(layout):
        return nullcontext(lambda words: process.start_detached(layout, ["--cluster", layout.cluster, *words]))
    return held.held_back(layout)


def _give_policies(layout: Layout) -> None:
    """See to it that workers have policies: who is not told otherwise is in the shared root."""
    from penstock.api.controller import SharedRoot  # noqa: PLC0415
    from penstock.walls.policy import Policy, UserClass  # noqa: PLC0415
    from penstock.walls.shelf import DEFAULT, Shelf  # noqa: PLC0415

    shelf = Shelf(layout.walls)
    shelf.prepare()
    if shelf.text(DEFAULT) is None:
        shelf.give(None, Policy(user_class=UserClass.USER, root=SharedRoot().mount_path))


def _until_there(layout: Layout, alive: Alive) -> None:
    """Wait for the API without loading what talks to it: until then the containers need the processors."""
    deadline = time.monotonic() + _THERE
    while alive() and not layout.socket.exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def _shown(arguments: argparse.Namespace, layout: Layout) -> str:
    """What is only to be shown."""
    if arguments.systemd_unit:
        from penstock.machine import systemd  # noqa: PLC0415
        from penstock.machine.ports import Ports  # noqa: PLC0415

        return systemd.unit(layout, Ports.shown(layout, ssh=arguments.ssh_port, rest=arguments.rest_port))
    import yaml  # noqa: PLC0415

    from penstock.machine import manifest  # noqa: PLC0415

    objects, _ = _objects(arguments, layout, manifest.usual_images(arguments.suite))
    return str(yaml.safe_dump_all(objects, sort_keys=False))


def _proof(nodes: list[str]) -> str:
    return (
        f"a job has run on {', '.join(nodes)}" if nodes else "everything is ready; there are no nodes to run a job on"
    )


def _check(problems: list[checks.Problem]) -> None:
    if problems:
        raise NotUp("\n  ".join(["this machine is not ready:", *map(str, problems)]))


async def _bring_up(layout: Layout, objects: list[Json], made: list[Json], progress: Progress, alive: Alive) -> None:
    from penstock.cluster.kube import KubeCluster, local  # noqa: PLC0415  (aiohttp: not for --help)
    from penstock.machine import bring_up  # noqa: PLC0415

    try:
        await bring_up.answering(layout.socket, seconds=_THERE, alive=alive)
    except NotUp as problem:
        raise NotUp(f"{problem}; its log is {layout.log}") from problem
    async with KubeCluster(local(layout.socket)) as cluster:
        progress.step("applying the cluster's objects")
        await bring_up.put(cluster, objects, made)
        await bring_up.ready(cluster, progress.step, seconds=_READY)


async def _job(layout: Layout, progress: Progress) -> list[str]:
    from penstock.cluster.kube import KubeCluster, local  # noqa: PLC0415  (aiohttp: not for --help)
    from penstock.machine import bring_up, manifest  # noqa: PLC0415

    progress.step("running a job on every node")
    async with KubeCluster(local(layout.socket)) as cluster:
        return await bring_up.job_on_every_node(cluster, namespace=manifest.NAMESPACE, seconds=_JOB)


def _objects(arguments: argparse.Namespace, layout: Layout, images: dict[str, str]) -> tuple[list[Json], list[Json]]:
    """The objects to apply, and keys to make when they are not there."""
    from penstock.machine import keys, manifest  # noqa: PLC0415

    if arguments.file:
        from penstock.cli.objects.manifests import written  # noqa: PLC0415  (not for --help)
        from penstock.machine import bring_up  # noqa: PLC0415

        objects = [body for _, body in written(arguments.file)]
        bring_up.check(objects)
        return objects, manifest.keys()
    wishes = manifest.Wishes(
        images=images, workers=arguments.workers, authorized_keys=keys.authorized(layout), walls=str(layout.walls),
        constrained=cgroups.here().kind is cgroups.Kind.V2,
    )  # fmt: skip
    return manifest.default(wishes), manifest.keys()


def _built(arguments: argparse.Namespace, progress: Progress) -> dict[str, str]:
    """The images of every role by their names, built if they are not there."""
    from penstock.images.build import build  # noqa: PLC0415
    from penstock.images.library import Library  # noqa: PLC0415
    from penstock.machine import manifest  # noqa: PLC0415
    from penstock.machine.places import images_directory  # noqa: PLC0415

    library = Library(images_directory())
    made = build(
        library, manifest.ROLES, arguments.suite,
        progress=lambda one: progress.step(f"image {one.role}: {one.step}", done=one.done, total=one.total),
    )  # fmt: skip
    usual = manifest.usual_images(arguments.suite)
    # What `--show` prints, where it is one of its names: else giving that back would change the cluster.
    return {image.role: usual[image.role] if usual[image.role] in image.names else image.name for image in made}


def _install(packages: Sequence[str]) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
    for words in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
    ):
        done = subprocess.run(words, check=False, stderr=subprocess.PIPE, text=True, **quiet)  # type: ignore[call-overload]  # noqa: S603
        if done.returncode:
            raise NotUp(f"`{' '.join(words)}` failed: {done.stderr.strip()[-500:]}")


def _next_steps(arguments: argparse.Namespace, layout: Layout, ports: Ports) -> str:
    from penstock.machine import keys  # noqa: PLC0415

    which = "" if arguments.cluster == "main" else f" --cluster {arguments.cluster}"
    key = keys.private(layout)
    return f"""
  look      penstock status{which}
  submit    penstock slurm{which} -- sbatch --wrap 'srun hostname'
  ssh       ssh -p {ports.ssh} -i {key} root@127.0.0.1
  scale     penstock scale{which} nodeset/slurm-worker-compute --replicas 5
  stop      penstock down{which}

Limits of containers are enforced by control groups ({_groups()}).
"""


def _groups() -> str:
    here = cgroups.here()
    held = [name for name in ("cpu", "memory", "pids") if name in here.controllers]
    return f"{here.kind}: {', '.join(held)}" if held else f"{here.kind}: none of cpu, memory, pids"


def _stay(layout: Layout) -> int:
    """Show how the cluster is until ^C, which ends it."""
    import signal  # noqa: PLC0415

    from penstock.cli.down import take_down  # noqa: PLC0415
    from penstock.cli.status import watch  # noqa: PLC0415
    from penstock.machine import manifest  # noqa: PLC0415

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        watch(layout, namespace=manifest.NAMESPACE, footer="^C ends the cluster; its data stays")
    except KeyboardInterrupt:
        sys.stdout.write("\n")
    return take_down(layout, Progress("penstock down"))


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
