"""`penstock annotate`: set and take away annotations of objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects import marking
from penstock.cli.objects.command import conduct

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock annotate pod slurm-worker-2 slinky.slurm.net/pod-cordon=true
  penstock annotate controller slurm restart-trigger="$(date +%s)" --overwrite
  penstock annotate nodeset/compute note-
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Set and take away annotations."""
    parser = marking.parser_of("annotate", "Set (KEY=VALUE) and take away (KEY-) annotations of objects.", _EXAMPLES)
    return conduct("annotate", parser.read(argv), connect=connect)
