"""`penstock delete`: delete objects, and wait until they are gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import (
    Parser,
    add_cluster,
    add_dry_run,
    add_files,
    add_output,
    add_selection,
    add_words,
    duration,
)  # fmt: skip

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock delete pod slurm-controller-0
  penstock delete -f cluster.yaml
  penstock delete pods -l app=old --wait=false
  penstock delete nodeset/old --cascade=orphan
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Delete objects."""
    return conduct("delete", _parser().read(argv), connect=connect)


def _parser() -> Parser:
    parser = Parser("delete", "Delete objects, and wait until they are gone.", _EXAMPLES)
    add_words(parser)
    add_files(parser, "the objects of these manifests")
    add_selection(parser)
    add = parser.add_argument
    parser.switch("--all", help="all objects of the kind")
    parser.switch("--wait", default=True, help="wait until they are gone (default)")
    add("--timeout", type=duration, default=0.0, metavar="TIME", help="wait no longer than this: 30s, 5m")
    add("--grace-period", type=int, metavar="SECONDS", help="time that a pod has to end; 0 with --force")
    parser.switch("--now", help="the same as --grace-period=1")
    parser.switch("--force", help="do not wait for the containers to end")
    parser.choice(
        "--cascade", ("background", "foreground", "orphan"), default="background", bare="background",
        help_="what becomes of the objects that they own (default: %(default)s); no NodeSet goes in the foreground",
    )  # fmt: skip
    parser.switch("--ignore-not-found", help="objects that are not there are no error")
    add_dry_run(parser, server=False)
    add_output(parser, "name")
    add_cluster(parser)
    return parser
