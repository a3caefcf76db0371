"""`penstock rollout`: how far a change has come, and to begin one anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_output, add_words, duration

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock rollout status nodeset/compute --timeout=5m
  penstock rollout restart deploy/slurm-login
  penstock rollout history sts/slurm-controller
  penstock rollout undo deploy/slurm-login --to-revision=3
  penstock rollout history nodeset/compute
  penstock rollout undo nodeset/compute
  penstock rollout undo nodeset/compute --to-revision=3
"""
_FORMS = {"history": ("json", "yaml"), "undo": ("json", "yaml", "name"), "restart": ("json", "yaml", "name")}
"""What `-o` may say to each verb."""
_VERBS = ("status", "restart", "history", "undo", "pause", "resume")


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Look after a rollout."""
    parser = _parser()
    arguments = parser.read(argv)
    if not arguments.words or arguments.words[0] not in _VERBS:
        parser.error(f"write penstock rollout {'|'.join(_VERBS)} TYPE/NAME")
    arguments.verb, *arguments.words = arguments.words
    forms = _FORMS.get(arguments.verb, ())
    if arguments.output and arguments.output not in forms:
        known = f"write {' or '.join(forms)}" if forms else "it tells in words only"
        parser.error(f"rollout {arguments.verb} -o {arguments.output}: {known}")
    return conduct("rollout", arguments, connect=connect)


def _parser() -> Parser:
    parser = Parser("rollout", "See how far a change has come, begin one anew, go back to an earlier one.", _EXAMPLES)
    parser.usage = "penstock rollout status|restart|history|undo|pause|resume TYPE/NAME [OPTIONS]"
    add_words(parser, "what to do, then TYPE NAME or TYPE/NAME")
    parser.switch("-w", "--watch", default=True, help="status: wait until it is done (default)")
    parser.add_argument("--timeout", type=duration, default=0.0, metavar="TIME", help="status: wait no longer")
    parser.add_argument("--to-revision", type=int, default=0, metavar="NUMBER", help="undo: to this one, not the last")
    parser.add_argument("--revision", type=int, default=0, metavar="NUMBER", help="history: this one in full")
    add_output(parser, "json, yaml; restart and undo also name")
    add_cluster(parser)
    return parser
