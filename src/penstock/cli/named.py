"""`--cluster` of the commands that look after a cluster of this machine."""

from __future__ import annotations

import argparse
import os

from penstock.engine.layout import BadName, Layout


def add_name(parser: argparse._ActionsContainer, what: str) -> None:
    """Let a command be told which cluster is meant; a name that nobody can have is refused before anything happens."""
    usual = os.environ.get("PENSTOCK_CLUSTER") or "main"
    parser.add_argument("--cluster", type=_name, default=usual, metavar="NAME", help=f"{what} (default: main)")


def said(layout: Layout) -> str:
    """What to add to a command so that it means this cluster."""
    return "" if layout.cluster == "main" else f" --cluster {layout.cluster}"


def _name(text: str) -> str:
    try:
        return Layout.of(text).cluster
    except BadName as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
