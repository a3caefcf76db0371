"""`penstock cp`: files and directories, into a container and out of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_words

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock cp slurm/slurm-worker-0:/root/output.txt ./output.txt
  penstock cp ./data slurm-login-0:/home/me/data -c login

The container needs tar.
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Copy files."""
    parser = _parser()
    arguments = parser.read(argv)
    if len(arguments.words) != 2:
        parser.error("write penstock cp SOURCE DESTINATION, one of them as [NAMESPACE/]POD:PATH")
    return conduct("cp", arguments, connect=connect)


def _parser() -> Parser:
    parser = Parser("cp", "Copy files and directories into a container, or out of one.", _EXAMPLES)
    add_words(parser, "SOURCE DESTINATION, one of them as [NAMESPACE/]POD:PATH")
    parser.add_argument("-c", "--container", metavar="NAME", help="this container (default: the pod's first)")
    add_cluster(parser)
    return parser
