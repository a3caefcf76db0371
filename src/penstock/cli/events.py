"""`penstock events`: what happened, the newest last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_output

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock events
  penstock events --for nodeset/compute --watch
  penstock events -A --types=Warning
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Show events."""
    return conduct("events", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("events", "Show what happened, the newest last.", _EXAMPLES)
    parser.add_argument("--for", dest="about", metavar="TYPE/NAME", help="only about this object")
    parser.add_argument("--types", default="", metavar="TYPE", help="only of these types: Normal,Warning")
    parser.switch("-w", "--watch", help="go on showing what happens")
    parser.switch("-A", "--all-namespaces", help="in all namespaces")
    parser.switch("--no-headers", help="no titles above the columns")
    add_output(parser, "json, yaml, name, wide, jsonpath=..., custom-columns=...")
    add_cluster(parser)
    return parser
