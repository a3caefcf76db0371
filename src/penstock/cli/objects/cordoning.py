"""`penstock cordon` and `penstock uncordon`: whether a machine takes new pods. What runs there goes on."""

from __future__ import annotations

from penstock.cli.objects.options import Parser, add_cluster, add_dry_run, add_selection, add_words


def parser_of(name: str, description: str, examples: str) -> Parser:
    """The parser of either command."""
    parser = Parser(name, description, examples)
    add_words(parser, "names of machines (Kubernetes nodes)")
    add_selection(parser, everywhere=False, fields=False)
    add_dry_run(parser, server=False)
    add_cluster(parser)
    return parser
