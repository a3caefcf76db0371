"""`penstock describe`: one object in full, readable, with what happened to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_files, add_selection, add_words

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock describe nodeset compute
  penstock describe pod slurm-worker-compute-0
  penstock describe pods -l app=slurmd
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Describe objects."""
    return conduct("describe", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("describe", "Show objects in full, and what happened to them.", _EXAMPLES)
    add_words(parser)
    add_files(parser, "the objects of these manifests")
    add_selection(parser, fields=False)
    parser.switch("--show-events", default=True, help="what happened, at the end (default)")
    add_cluster(parser)
    return parser
