"""`penstock plan`: what the operator would do next about a NodeSet, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_output, add_words, duration

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock plan nodeset/compute
  penstock plan nss/compute -o json
"""
_FORMS = ("", "json", "yaml")


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Tell the plan."""
    parser = _parser()
    arguments = parser.read(argv)
    if arguments.output not in _FORMS:
        parser.error(f"-o {arguments.output}: write json or yaml")
    return conduct("plan", arguments, connect=connect)


def _parser() -> Parser:
    parser = Parser(
        "plan", "Tell what the operator would do next about a NodeSet, and why. Nothing is done.", _EXAMPLES
    )
    parser.usage = "penstock plan nodeset/NAME [OPTIONS]"
    add_words(parser, "nodeset/NAME")
    add_output(parser, "json, yaml")
    waits = "how long to wait for all that the operator reads, and Slurm (default: 30s)"
    parser.add_argument("--timeout", type=duration, default=30.0, metavar="TIME", help=waits)
    add_cluster(parser)
    return parser
