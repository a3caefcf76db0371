"""`penstock supervise`: keep `penstock serve` going. What `penstock up --detach` starts where there is no systemd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.machine import held

if TYPE_CHECKING:
    import argparse
    import subprocess

_TOLD = {
    "serve": "Look after a cluster on this machine, in this process: SIGTERM leaves its containers running, SIGINT "
    "ends them. `penstock up` starts this.",
    "supervise": "Keep `penstock serve` going: start it again whenever it dies. `penstock up` starts this.",
}


def run(argv: Sequence[str]) -> int:
    """Start it again whenever it dies; end when it ends well, or when told to."""
    words = [word for word in argv if word != held.OPTION]
    if held.OPTION not in argv:
        return _supervise(words)
    # At once, before we load what we need ourselves: it has more to load.
    first = held.begin(["serve", *words])
    more = held.awaited()
    if more is None:
        held.dismiss(first)
        return 0
    held.give_word(first, more)
    return _supervise([*words, *more], first)


def _supervise(words: list[str], first: subprocess.Popen[bytes] | None = None) -> int:
    import logging  # noqa: PLC0415

    from penstock.engine.layout import Layout  # noqa: PLC0415
    from penstock.machine import process  # noqa: PLC0415

    arguments = parser("supervise").parse_args(words)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    return process.supervise(Layout.of(arguments.cluster), words, first=first)


def parser(name: str) -> argparse.ArgumentParser:
    """What `serve` and `supervise` understand."""
    import argparse  # noqa: PLC0415

    from penstock.cli.named import add_name  # noqa: PLC0415

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
    return found
