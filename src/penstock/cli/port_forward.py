"""`penstock port-forward`: a port of a pod, on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_words

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock port-forward svc/slurm-restapi 6820
  penstock port-forward pod/slurm-login-0 2222:22
  penstock port-forward deploy/web :8080 --address 0.0.0.0

Only programs of this machine can connect, unless --address says otherwise.
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Forward ports."""
    parser = _parser()
    arguments = parser.read(argv)
    if len(arguments.words) < 2:
        parser.error("write penstock port-forward TYPE/NAME [LOCAL:]REMOTE")
    return conduct("port-forward", arguments, connect=connect)


def _parser() -> Parser:
    parser = Parser("port-forward", "Make ports of a pod reachable on this machine, until Ctrl-C.", _EXAMPLES)
    add_words(parser, "POD or TYPE/NAME, then ports: REMOTE, LOCAL:REMOTE, or :REMOTE for any free one")
    parser.add_argument(
        "--address", default="localhost", metavar="LIST", help="addresses to listen on (default: %(default)s)"
    )
    add_cluster(parser)
    return parser
