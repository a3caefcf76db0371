"""`penstock edit`: an object in your editor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_words

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock edit nodeset compute
  EDITOR=nano penstock edit controller/slurm
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Edit objects."""
    return conduct("edit", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("edit", "Change objects in your editor ($KUBE_EDITOR, $EDITOR, vi).", _EXAMPLES)
    add_words(parser, "TYPE NAME, or TYPE/NAME")
    add_cluster(parser)
    return parser
