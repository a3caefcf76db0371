"""`penstock scale`: how many there should be."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_dry_run, add_selection, add_words

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock scale nodeset/compute --replicas=5
  penstock scale loginset slurm-login --replicas=2 --current-replicas=1
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Scale objects."""
    return conduct("scale", _parser().read(argv), connect=connect)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > 2147483647:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of replicas")
    return int(text)


def _parser() -> Parser:
    parser = Parser("scale", "Set how many replicas there should be.", _EXAMPLES)
    add_words(parser)
    add_selection(parser, everywhere=False, fields=False)
    parser.add_argument("--replicas", type=_count, required=True, metavar="COUNT", help="how many")
    parser.add_argument("--current-replicas", type=_count, metavar="COUNT", help="only if there are so many now")
    add_dry_run(parser, server=False)
    add_cluster(parser)
    return parser
