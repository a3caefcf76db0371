"""`penstock cordon`: keep new pods away from machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects import cordoning
from penstock.cli.objects.command import conduct

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock cordon machine-1
  penstock cordon -l rack=7
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Keep new pods away from machines."""
    parser = cordoning.parser_of("cordon", "Keep new pods away from machines.", _EXAMPLES)
    return conduct("cordon", parser.read(argv), connect=connect)
