"""`penstock explain`: what the fields of a kind mean. Needs no cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from penstock.cli.objects.options import Parser

_EXAMPLES = """\
  penstock explain nodeset
  penstock explain nodeset.spec.partition
  penstock explain controller --recursive
"""


def run(argv: Sequence[str]) -> int:
    """Explain a field."""
    arguments = _parser().read(argv)
    from penstock.cli.objects.complaint import Complaint  # noqa: PLC0415  (not for --help)
    from penstock.cli.objects.explaining import explained  # noqa: PLC0415

    try:
        sys.stdout.write(explained(arguments.field, recursive=arguments.recursive))
    except Complaint as problem:
        sys.stderr.write(f"penstock explain: {problem}\n")
        return 1
    return 0


def _parser() -> Parser:
    parser = Parser("explain", "Tell what the fields of our kinds mean.", _EXAMPLES)
    parser.add_argument("field", metavar="KIND[.FIELD]...", help="for instance nodeset.spec.partition")
    parser.switch("--recursive", help="all fields, at any depth")
    return parser
