"""`penstock apply`: make objects as manifests say (server-side apply)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_dry_run, add_files, add_output

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock apply -f cluster.yaml
  penstock apply -f manifests/ --dry-run=server
  penstock crds | penstock apply --context lab -f -
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Apply manifests."""
    return conduct("apply", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("apply", "Make objects as manifests say: created, configured or left as they are.", _EXAMPLES)
    add_files(parser, "a manifest, a directory of manifests, or - for standard input")
    add_dry_run(parser)
    add_output(parser, "json, yaml, name, jsonpath=...")
    parser.switch("--force-conflicts", help="take over fields that belong to somebody else")
    parser.switch("--server-side", default=True, help=argparse.SUPPRESS)
    parser.switch("--prune", help=argparse.SUPPRESS)
    add_cluster(parser)
    return parser
