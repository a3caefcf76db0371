"""`penstock label`: set and take away labels of objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects import marking
from penstock.cli.objects.command import conduct

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock label nodeset compute team=physics
  penstock label pods -l app=x tier-
  penstock label nodes --all disk=ssd --overwrite
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Set and take away labels."""
    parser = marking.parser_of("label", "Set (KEY=VALUE) and take away (KEY-) labels of objects.", _EXAMPLES)
    return conduct("label", parser.read(argv), connect=connect)
