"""`penstock patch`: change some fields of objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_dry_run, add_output, add_words

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock patch nodeset compute --type=merge -p '{"spec":{"replicas":5}}'
  penstock patch nss/compute --type=json -p '[{"op":"replace","path":"/spec/replicas","value":5}]'
  penstock patch sts/db -p '{"spec":{"template":{"spec":{"containers":[{"name":"db","image":"db:2"}]}}}}'
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Patch objects."""
    return conduct("patch", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("patch", "Change some fields of objects.", _EXAMPLES)
    add_words(parser, "TYPE NAME, or TYPE/NAME")
    add = parser.add_argument
    add("-p", "--patch", metavar="TEXT", help="what to change, as JSON or YAML")
    add("--patch-file", metavar="FILE", help="what to change, in a file")
    add(
        "--type", choices=("strategic", "merge", "json"), default="strategic",
        help="strategic: lists of named things are merged; merge: lists are replaced; json: a list of operations",
    )  # fmt: skip
    add_dry_run(parser, server=False)
    add_output(parser, "json, yaml, name, jsonpath=...")
    add_cluster(parser)
    return parser
