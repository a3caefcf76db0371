"""`penstock label` and `penstock annotate`: one command with two names."""

from __future__ import annotations

from penstock.cli.objects.options import Parser, add_cluster, add_dry_run, add_output, add_selection, add_words


def parser_of(name: str, description: str, examples: str) -> Parser:
    """The parser of either command."""
    parser = Parser(name, description, examples)
    add_words(parser, "objects, then KEY=VALUE to set, KEY- to take away")
    add_selection(parser)
    parser.switch("--all", help="all objects of the kind")
    parser.switch("--overwrite", help="change a value that is there already")
    parser.switch("--list", help="show what there is")
    add_dry_run(parser, server=False)
    add_output(parser, "json, yaml, name, jsonpath=...")
    add_cluster(parser)
    return parser
