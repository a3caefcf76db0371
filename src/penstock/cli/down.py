"""`penstock down`: end a cluster of this machine; its claims and its keys stay for the next `penstock up`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from penstock.cli.named import add_name, said
from penstock.cli.progress import Progress
from penstock.engine.layout import Layout
from penstock.machine import take_down as machine

_EXAMPLES = """\
examples:
  penstock down                    end the cluster; `penstock up` brings it back with its jobs' records and its data
  penstock down --purge            and remove its data too, after asking
"""


def run(argv: Sequence[str]) -> int:
    """End a cluster."""
    arguments = _parser().parse_args(argv)
    layout = Layout.of(arguments.cluster)
    if arguments.purge and not arguments.yes and not _agreed(layout):
        sys.stderr.write("penstock down: nothing was changed\n")
        return 1
    return take_down(layout, Progress("penstock down"), purge=arguments.purge)


def take_down(layout: Layout, progress: Progress, *, purge: bool = False) -> int:
    """End a cluster and say so; 1 when something of it is left."""
    ended = asyncio.run(machine.take_down(layout, progress.step, purge=purge))
    if ended.left:
        again = f"penstock down{said(layout)}{' --purge' if purge else ''}"
        progress.end(f"cluster {layout.cluster} is down, but this is left; look into it, then: {again}")
        sys.stderr.write("".join(f"  {one}\n" for one in ended.left))
        return 1
    kept = "its data is gone too" if purge else f"its data is kept in {layout.state}"
    told = f"cluster {layout.cluster} is down; {kept}" if ended.was_there else f"there is no cluster {layout.cluster}"
    progress.end(told)
    return 0


def _agreed(layout: Layout) -> bool:
    sys.stderr.write(f"This removes {layout.state}: claims, accounting, keys. Type the cluster's name to agree: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() == layout.cluster


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock down", description="End a cluster of this machine. Nothing of it is left running or mounted.",
        epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add_name(parser, "which")
    parser.add_argument("--purge", action="store_true", help="remove its data as well: claims, accounting, keys")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    return parser
