"""`penstock replace`: make objects exactly as manifests say; what they do not say goes away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_dry_run, add_files, add_output

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock replace -f nodeset.yaml
  penstock create secret generic key --from-file=jwt.key --dry-run=client -o yaml | penstock replace -f -
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Replace objects."""
    return conduct("replace", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("replace", "Make objects exactly as manifests say; what they do not say goes away.", _EXAMPLES)
    add_files(parser, "a manifest, a directory of manifests, or - for standard input")
    add_dry_run(parser, server=False)
    add_output(parser, "json, yaml, name, jsonpath=...")
    add_cluster(parser)
    return parser
