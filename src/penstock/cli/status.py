"""`penstock status`: one screen that says how a cluster is, and what waits for what."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from penstock.cli.named import add_name
from penstock.cluster.errors import ClusterError, Unreachable
from penstock.engine.layout import Layout
from penstock.machine import process
from penstock.machine.manifest import NAMESPACE

if TYPE_CHECKING:
    from penstock.machine.report import Report

_GREEN, _YELLOW, _DIM, _PLAIN = "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"
_AGAIN = 2.0
"""Seconds between two looks of a screen that stays."""
_EXAMPLES = """\
examples:
  penstock status                    how the cluster of this machine is
  penstock status --watch            the same, again and again
  penstock status --output json      for programs
"""


def run(argv: Sequence[str]) -> int:
    """Show it; 1 when something is not ready."""
    arguments = _parser().parse_args(argv)
    layout = Layout.of(arguments.cluster)
    if not _is_looked_after(layout):
        sys.stderr.write(f"penstock status: no cluster {layout.cluster} runs here; `penstock up` starts one\n")
        return 1
    if arguments.watch:
        with suppress(KeyboardInterrupt):
            watch(layout, namespaces=[arguments.namespace])
        return 0
    try:
        report = asyncio.run(_gathered(layout, arguments.namespace))
    except ClusterError as problem:
        sys.stderr.write(f"penstock status: {_silence(layout, problem)}\n")
        return 1
    if arguments.output == "json":
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
    else:
        sys.stdout.write(page(report, layout, colours=sys.stdout.isatty()))
    return 0 if all(thing.ready for thing in report.things) else 1


def watch(layout: Layout, *, namespaces: Sequence[str], footer: str = "^C ends this view; the cluster goes on") -> None:
    """Keep the screen current until ^C."""
    while _is_looked_after(layout):
        if sys.stdout.isatty():
            shown = "\n".join(_screen(layout, namespace) for namespace in namespaces)
            sys.stdout.write(f"\x1b[H\x1b[2J{shown}\n{_DIM}{footer}{_PLAIN}\n")
            sys.stdout.flush()
        time.sleep(_AGAIN)


def _screen(layout: Layout, namespace: str) -> str:
    """What is to be seen now; one that does not answer is started again, and whoever watches goes on."""
    try:
        return page(asyncio.run(_gathered(layout, namespace)), layout, colours=True)
    except ClusterError as problem:
        return f"{_silence(layout, problem)}\n"


def _silence(layout: Layout, problem: ClusterError) -> str:
    # Nobody is there for a moment at every start, and after each death of who looks after it: that needs no details.
    why = "" if isinstance(problem, Unreachable) else f" ({problem})"
    return f"cluster {layout.cluster} does not answer{why}; if it does not in a few seconds, see {layout.log}"


def _is_looked_after(layout: Layout) -> bool:
    return bool(process.found(layout, "supervise") or process.found(layout))


def page(report: Report, layout: Layout, *, colours: bool) -> str:
    """The screen."""

    def mark(good: bool, *, done: bool = False) -> str:
        word = "done" if done else "ready" if good else "waits"
        return f"{_GREEN if good else _YELLOW}{word}{_PLAIN}" if colours else word

    def title(text: str) -> str:
        return f"\n{_DIM}{text}{_PLAIN}\n" if colours else f"\n{text}\n"

    known = process.found(layout)
    pods = (
        (
            mark(one.ready, done=one.phase == "Succeeded"),
            one.name,
            one.phase,
            one.address,
            f"restarts {one.restarts}" if one.restarts else "",
            one.why,
        )
        for one in report.pods
    )
    nodes = ((one.name, one.state, _cpus(one.cpus), _reason(one.reason)) for one in report.nodes)
    jobs = ((one.id, one.name, one.user, one.state, one.time, one.where, one.why) for one in report.jobs)
    return "".join(
        [
            f"cluster {layout.cluster}, looked after by process {known.pid if known else '-'}\n",
            *_table((mark(one.ready), f"{one.kind}/{one.name}", one.why) for one in report.things),
            *_under(title("PODS"), _table(pods)),
            *_under(title("NODES"), _table(nodes)),
            *([f"\n  {report.slurm}\n"] if report.slurm else []),
            *_under(title("JOBS"), _table(jobs)),
            *_under(title("CLAIMS"), _table((one.name, one.phase, one.size, one.why) for one in report.claims)),
        ]
    )


def _under(title: str, lines: list[str]) -> list[str]:
    return [title, *lines] if lines else []


def _table(rows: Iterable[Sequence[str]]) -> list[str]:
    kept = [[str(cell) for cell in row] for row in rows]
    widths = [max(_width(row[column]) for row in kept) for column in range(len(kept[0]))] if kept else []
    return [
        "  "
        + "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        + "\n"
        for row in kept
    ]


def _cpus(told: str) -> str:
    """What sinfo tells as allocated/idle/other/total."""
    _, idle, _, total = told.split("/") if told.count("/") == 3 else ("", "?", "", "?")
    return f"{idle} of {total} CPUs free"


def _width(cell: str) -> int:
    for colour in (_GREEN, _YELLOW, _DIM, _PLAIN):
        cell = cell.replace(colour, "")
    return len(cell)


def _reason(reason: str) -> str:
    return "" if reason in {"none", "(null)"} else reason


async def _gathered(layout: Layout, namespace: str) -> Report:
    from penstock.cluster.kube import KubeCluster, local  # noqa: PLC0415  (aiohttp: not for --help)
    from penstock.machine.report import gather  # noqa: PLC0415

    async with KubeCluster(local(layout.socket)) as cluster:
        return await gather(cluster, namespace=namespace)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock status", description="Show on one screen how a cluster of this machine is.",
        epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add_name(parser, "which")
    parser.add_argument("-n", "--namespace", default=NAMESPACE, help="which namespace (default: %(default)s)")
    parser.add_argument("-w", "--watch", action="store_true", help="stay, and keep it current")
    parser.add_argument("-o", "--output", choices=["text", "json"], default="text", help="in which form")
    return parser
