"""`penstock supervise`: keep `penstock serve` going. What `penstock up --detach` starts where there is no systemd."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from penstock.cli.named import add_name
from penstock.engine.layout import Layout
from penstock.machine import held, process
from penstock.machine.errors import Occupied

_TOLD = {
    "serve": "Look after a cluster on this machine, in this process: SIGTERM leaves its containers running, SIGINT "
    "ends them. `penstock up` starts this.",
    "supervise": "Keep `penstock serve` going: start it again whenever it dies. `penstock up` starts this.",
}


def run(argv: Sequence[str]) -> int:
    """Start it again whenever it dies; end when it ends well, or when told to."""
    arguments = parser("supervise").parse_args(argv)
    more = held.awaited() if arguments.held else []
    if more is None:
        return os.waitstatus_to_exitcode(os.waitpid(arguments.first, 0)[1])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    words = [*_lasting(argv), *more]
    try:
        return process.supervise(Layout.of(arguments.cluster), words, first=arguments.first)
    except Occupied as problem:
        sys.stderr.write(f"penstock supervise: {problem}\n")
        return process.OCCUPIED


def _lasting(argv: Sequence[str]) -> list[str]:
    """The words for whoever is started later: nothing of how we were started."""
    words = [word for word in argv if word != held.OPTION]
    return words[: words.index(held.FIRST)] if held.FIRST in words else words


def parser(name: str) -> argparse.ArgumentParser:
    """What `serve` and `supervise` understand."""
    found = argparse.ArgumentParser(
        prog=f"penstock {name}",
        description=_TOLD[name],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"examples:\n  penstock {name} --cluster lab --ssh-port 2222 --rest-port 6820\n",
    )
    add_name(found, "which cluster")
    found.add_argument("--ssh-port", type=int, default=0, help="port of 127.0.0.1 that leads to the login pods' ssh")
    found.add_argument("--rest-port", type=int, default=0, help="port of 127.0.0.1 that leads to slurmrestd")
    found.add_argument("-v", "--verbose", action="store_true", help="tell more in the log")
    found.add_argument(held.OPTION, action="store_true", help="wait for a word on stdin; without one, end")
    if name == "supervise":
        found.add_argument(held.FIRST, type=int, metavar="PID", help="a child that serves already")
    return found
