"""The start of a cluster on one machine: what it needs is seen to, then somebody looks after it."""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.cli.progress import Progress
from penstock.engine import cgroups
from penstock.engine.layout import Layout
from penstock.machine import checks, held
from penstock.machine.errors import NotUp
from penstock.machine.held import Alive

if TYPE_CHECKING:
    from penstock.api.objects import Json
    from penstock.machine.ports import Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A cluster that somebody looks after from now on."""

    objects: list[Json]
    made: list[Json]
    """Keys, for where there are none yet."""
    ports: Ports
    ran: bool
    """Somebody did before."""
    alive: Alive
    at: float
    """When it began, on the monotonic clock."""


def start(arguments: argparse.Namespace, layout: Layout, progress: Progress) -> Begun:
    """See to it that this machine can, and that somebody looks after the cluster."""
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
        objects, made = wanted(arguments, layout, _built(arguments, progress))
        began = time.monotonic()
        progress.step("starting")
        _give_policies(layout)
        ours = begin(ports.words())
    # Of two who begin it at once one supervises; the other one's cluster is looked after all the same.
    return Begun(
        objects=objects, made=made, ports=ports, ran=running is not None, at=began,
        alive=lambda: ours() or process.is_kept(layout),
    )  # fmt: skip


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


def _check(problems: list[checks.Problem]) -> None:
    if problems:
        raise NotUp("\n  ".join(["this machine is not ready:", *map(str, problems)]))


def _install(packages: Sequence[str]) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
    for words in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
    ):
        done = subprocess.run(words, check=False, stderr=subprocess.PIPE, text=True, **quiet)  # type: ignore[call-overload]  # noqa: S603
        if done.returncode:
            raise NotUp(f"`{' '.join(words)}` failed: {done.stderr.strip()[-500:]}")


def _give_policies(layout: Layout) -> None:
    """See to it that workers have policies: who is not told otherwise is in the shared root."""
    from penstock.api.controller import SharedRoot  # noqa: PLC0415
    from penstock.walls.policy import Policy, UserClass  # noqa: PLC0415
    from penstock.walls.shelf import DEFAULT, Shelf  # noqa: PLC0415

    shelf = Shelf(layout.walls)
    shelf.prepare()
    if shelf.text(DEFAULT) is None:
        shelf.give(None, Policy(user_class=UserClass.USER, root=SharedRoot().mount_path))


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


def wanted(arguments: argparse.Namespace, layout: Layout, images: dict[str, str]) -> tuple[list[Json], list[Json]]:
    """The objects to apply, and keys to make when they are not there."""
    from penstock.machine import keys, manifest  # noqa: PLC0415

    if arguments.file:
        from penstock.cli.objects.manifests import written  # noqa: PLC0415  (not for --help)
        from penstock.machine import bring_up  # noqa: PLC0415
        from penstock.machine.applied import applied  # noqa: PLC0415

        objects = [body for _, body in written(arguments.file)]
        bring_up.check(objects)
        return objects, manifest.keys(applied(objects).namespaces)
    wishes = manifest.Wishes(
        images=images, workers=arguments.workers, authorized_keys=keys.authorized(layout), walls=str(layout.walls),
        constrained=cgroups.here().kind is cgroups.Kind.V2,
    )  # fmt: skip
    return manifest.default(wishes), manifest.keys()
