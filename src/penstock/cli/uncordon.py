"""`penstock uncordon`: let machines take new pods again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects import cordoning
from penstock.cli.objects.command import conduct

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock uncordon machine-1
  penstock uncordon -l rack=7
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Let machines take new pods again."""
    parser = cordoning.parser_of("uncordon", "Let machines take new pods again.", _EXAMPLES)
    return conduct("uncordon", parser.read(argv), connect=connect)
