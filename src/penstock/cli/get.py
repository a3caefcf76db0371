"""`penstock get`: objects as tables, YAML, JSON or by a template of one's own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_files, add_output, add_selection, add_words

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock get nodesets
  penstock get pods -l slinky.slurm.net/component=slurmd -o wide
  penstock get nodeset compute -o yaml
  penstock get pods,svc -A --watch
  penstock get cm slurm-config -o jsonpath='{.data.slurm\\.conf}'
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Show objects."""
    return conduct("get", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("get", "Show objects.", _EXAMPLES)
    add_words(parser)
    add_files(parser, "the objects of these manifests")
    add_selection(parser)
    add_output(parser)
    add = parser.add_argument
    parser.switch("-w", "--watch", help="go on showing what changes")
    parser.switch("--watch-only", help="show only what changes")
    add("--sort-by", default="", metavar="PATH", help="by this field: .metadata.creationTimestamp")
    add("-L", "--label-columns", action="append", default=[], metavar="LABEL", help="a column for this label")
    parser.switch("--show-labels", help="a column with all labels")
    parser.switch("--show-kind", help="names with their kind")
    parser.switch("--show-managed-fields", help="keep managedFields in YAML and JSON")
    parser.switch("--no-headers", help="no titles above the columns")
    parser.switch("--ignore-not-found", help="objects that are not there are no error")
    add("--chunk-size", help=argparse.SUPPRESS)
    add_cluster(parser)
    return parser
