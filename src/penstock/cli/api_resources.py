"""`penstock api-resources`: the kinds that a cluster serves, and what they may be called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock api-resources
  penstock api-resources --api-group=slinky.slurm.net -o name
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """List kinds."""
    return conduct("api-resources", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("api-resources", "Show the kinds that a cluster serves.", _EXAMPLES)
    parser.add_argument("--api-group", metavar="GROUP", help="only of this group")
    parser.add_argument("--namespaced", choices=("true", "false"), help="only those with, or without, namespaces")
    parser.switch("--no-headers", help="no titles above the columns")
    parser.add_argument("-o", "--output", choices=("name", "wide"), default="", help="only names, or more")
    add_cluster(parser)
    return parser
