"""`penstock create`: make objects that are not there yet, from manifests or from options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_dry_run, add_files, add_output, add_words

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock create -f nodeset.yaml
  penstock create namespace lab
  penstock create secret generic slurm-auth-jwt --from-file=jwt.key
  penstock create configmap prolog --from-file=prolog.sh --dry-run=client -o yaml
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Create objects."""
    return conduct("create", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("create", "Make objects that are not there yet.", _EXAMPLES)
    add_words(parser, "namespace NAME | configmap NAME | secret generic NAME | serviceaccount NAME")
    add_files(parser, "a manifest, a directory of manifests, or - for standard input")
    add = parser.add_argument
    add("--from-literal", action="append", default=[], metavar="KEY=VALUE", help="a value, as it stands")
    add("--from-file", action="append", default=[], metavar="[KEY=]FILE", help="the content of a file, or directory")
    add("--from-env-file", action="append", default=[], metavar="FILE", help="lines of KEY=VALUE")
    add("--type", metavar="TYPE", help="type of a Secret (default: Opaque)")
    add_dry_run(parser)
    add_output(parser, "json, yaml, name, jsonpath=...")
    add_cluster(parser)
    return parser
