"""`penstock wait`: until something is so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_files, add_output, add_selection, add_words, duration

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock wait controller/slurm nodeset/compute --for=condition=Ready --timeout=60s
  penstock wait nss/compute --for=jsonpath='{.status.readyReplicas}'=3
  penstock wait pod/slurm-worker-2 --for=delete --timeout=10m
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Wait."""
    return conduct("wait", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("wait", "Wait until something is so of each object, or until the time is over.", _EXAMPLES)
    add_words(parser)
    add_files(parser, "the objects of these manifests")
    add_selection(parser)
    add_output(parser, "json, yaml, name, jsonpath=...")
    parser.switch("--all", help="all objects of the kind")
    parser.add_argument(
        "--for", dest="what", required=True, metavar="WHAT",
        help="condition=NAME[=VALUE], jsonpath=PATH[=VALUE], create, or delete",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=duration, default=30.0, metavar="TIME",
        help="how long (default: 30s); 0 looks once, a negative time is a week",
    )  # fmt: skip
    add_cluster(parser)
    return parser
