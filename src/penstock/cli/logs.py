"""`penstock logs`: what containers say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_selection, add_words, duration

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock logs slurm-worker-compute-0 -c slurmd
  penstock logs controller/slurm -c reconfigure -f
  penstock logs -l slinky.slurm.net/component=slurmd --tail=20 --prefix
  penstock logs pod/slurm-controller-0 --previous --since=1h --timestamps
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Show logs."""
    return conduct("logs", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("logs", "Show what containers say.", _EXAMPLES)
    add_words(parser, "POD, or TYPE/NAME of what makes pods; then, if you like, a container")
    add_selection(parser, everywhere=False, fields=False)
    add = parser.add_argument
    add("-c", "--container", metavar="NAME", help="this container (default: the pod's first)")
    parser.switch("--all-containers", help="all containers of a pod")
    parser.switch("--all-pods", help="all pods of what is named")
    parser.switch("-f", "--follow", help="go on as more is said")
    parser.switch("-p", "--previous", help="of the container's last life")
    add("--tail", type=int, metavar="LINES", help="only the last lines (default: all; 10 with -l)")
    add("--since", type=duration, metavar="TIME", help="only what is no older: 10m, 1h")
    add("--since-time", metavar="MOMENT", help="only what was said since: 2026-01-31T12:00:00Z")
    parser.switch("--timestamps", help="begin each line with its time")
    parser.switch("--prefix", help="begin each line with pod and container")
    add("--limit-bytes", type=int, metavar="COUNT", help="no more than this")
    parser.switch("--ignore-errors", help="a log that cannot be read is no error")
    add("--max-log-requests", type=int, default=50, metavar="COUNT", help="at most so many logs at once with -f")
    add_cluster(parser)
    return parser
