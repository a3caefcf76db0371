"""`penstock serve`: look after a cluster on this machine, in this process. What `penstock up` starts."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence

from penstock.cli.supervise import parser
from penstock.engine.layout import Layout
from penstock.images.library import Library
from penstock.machine import daemon, process
from penstock.machine.forward import Forward
from penstock.machine.places import images_directory


def run(argv: Sequence[str]) -> int:
    """Run until told to stop: SIGTERM leaves the containers, SIGINT ends them."""
    arguments = parser("serve").parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if arguments.verbose else logging.INFO, stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )  # fmt: skip
    layout = Layout.of(arguments.cluster)
    forwards = (
        Forward(port=arguments.ssh_port, app="login", target=22),
        Forward(port=arguments.rest_port, app="slurmrestd", target=6820),
    )
    plan = daemon.Plan(
        layout=layout, library=Library(images_directory()), forwards=tuple(one for one in forwards if one.port)
    )
    try:
        with process.looking_after(layout):
            asyncio.run(daemon.run(plan))
    except process.Occupied as problem:
        sys.stderr.write(f"penstock serve: {problem}\n")
        return 2
    return 0
