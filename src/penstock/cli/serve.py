"""`penstock serve`: look after a cluster on this machine, in this process. What `penstock up` starts."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence

from penstock.cli.supervise import parser
from penstock.engine.layout import Layout
from penstock.images.library import Library
from penstock.machine import daemon, held, process
from penstock.machine.errors import Occupied
from penstock.machine.forward import Forward
from penstock.machine.places import images_directory
from penstock.machine.ports import Ports


def run(argv: Sequence[str]) -> int:
    """Run until told to stop: SIGTERM leaves the containers, SIGINT ends them."""
    arguments = parser("serve").parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if arguments.verbose else logging.INFO, stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )  # fmt: skip
    if arguments.held:
        more = held.awaited()
        if more is None:
            return 0
        arguments = parser("serve").parse_args([*argv, *more])
    layout = Layout.of(arguments.cluster)
    forwards = (
        Forward(port=arguments.ssh_port, app="login", target=22),
        Forward(port=arguments.rest_port, app="slurmrestd", target=6820),
    )
    plan = daemon.Plan(
        layout=layout, library=Library(images_directory()), forwards=tuple(one for one in forwards if one.port)
    )
    _watch_programs()
    try:
        with process.looking_after(layout):
            if arguments.ssh_port and arguments.rest_port:
                Ports(arguments.ssh_port, arguments.rest_port).keep(layout)
            asyncio.run(daemon.run(plan))
    except Occupied as problem:
        sys.stderr.write(f"penstock serve: {problem}\n")
        return process.OCCUPIED
    return 0


def _watch_programs() -> None:
    """Hear of a program's end from the kernel, as Python does from 3.12 on; before, each has a thread that waits."""
    if sys.version_info < (3, 12):
        asyncio.get_event_loop_policy().set_child_watcher(asyncio.PidfdChildWatcher())
