"""`penstock exec`: run a command in a container."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.objects.command import conduct
from penstock.cli.objects.options import Parser, add_cluster, add_words

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect

_EXAMPLES = """\
  penstock exec -it deploy/slurm-login -- bash
  penstock exec slurm-controller-0 -c slurmctld -- scontrol show partition
  echo hostname | penstock exec -i slurm-worker-compute-0 -- bash

The exit code is that of the command.
"""


def run(argv: Sequence[str], *, connect: Connect | None = None) -> int:
    """Run a command in a container."""
    words, command = _parted(list(argv))
    parser = _parser()
    arguments = parser.read(words)
    arguments.command = command
    if not command or not arguments.words:
        parser.error("write penstock exec POD -- COMMAND [ARGUMENTS]")
    return conduct("exec", arguments, connect=connect)


def _parted(words: list[str]) -> tuple[list[str], list[str]]:
    """What is for us, and the command behind `--`, which is nobody's business."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _parser() -> Parser:
    parser = Parser("exec", "Run a command in a container.", _EXAMPLES)
    parser.usage = "penstock exec [OPTIONS] POD|TYPE/NAME -- COMMAND [ARGUMENTS]"
    add_words(parser, "POD, or TYPE/NAME of what makes pods")
    parser.add_argument("-c", "--container", metavar="NAME", help="this container (default: the pod's first)")
    parser.switch("-i", "--stdin", help="pass our input on")
    parser.switch("-t", "--tty", help="with a terminal")
    parser.switch("-q", "--quiet", help="say nothing of our own")
    add_cluster(parser)
    return parser
