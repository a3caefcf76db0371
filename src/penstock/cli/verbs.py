"""The verbs of commands about policies: `penstock walls set`, `penstock walls image add`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from penstock.cli.named import add_name

Verb = tuple[str, str, Callable[..., int]]
"""Its name, what it does in a few words, and who does it."""


def of_policies(
    prog: str, words: str | None, examples: str
) -> tuple[argparse.ArgumentParser, argparse._SubParsersAction[argparse.ArgumentParser]]:
    """A command about the policies of a cluster, and where its verbs go."""
    parser = argparse.ArgumentParser(
        prog=prog, description=words, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    return parser, parser.add_subparsers(required=True, metavar="COMMAND")


def add_verbs(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], *wanted: Verb
) -> dict[str, argparse.ArgumentParser]:
    """Add verbs, with what each of them understands; by name, so that some can be given more."""
    each = argparse.ArgumentParser(add_help=False)
    each.add_argument("--directory", type=Path, help="of the policies and images (default: the cluster's)")
    each.add_argument("-o", "--output", choices=["text", "json"], default="text")
    add_name(each, "the cluster of this machine")
    made = {}
    for name, words, act in wanted:
        made[name] = verbs.add_parser(name, help=words, description=words, parents=[each])
        made[name].set_defaults(act=act)
    return made
