"""Command lines as kubectl takes them: options anywhere between the words, switches with or without `=true`.

No import here may be slow: `penstock get --help` reads this module and little else.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

_SWITCH = re.compile(r"--([a-z-]+)=(true|false)", re.IGNORECASE)


class Parser(argparse.ArgumentParser):
    """A parser for one command: `Parser("get", "Show objects.", examples)`."""

    def __init__(self, name: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"penstock {name}",
            description=description,
            epilog=f"examples:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self._switches: set[str] = set()
        self._bare: dict[str, str] = {}

    def switch(self, *names: str, default: bool = False, **more: str) -> None:
        """An option that is on or off: `--wait`, `--wait=true`, `--wait=false`."""
        long = names[-1].removeprefix("--")
        self._switches.add(long)
        key = long.replace("-", "_")
        self.add_argument(*names, dest=key, action="store_true", default=default, **more)  # type: ignore[arg-type]
        self.add_argument(f"--{long}-off", dest=key, action="store_false", help=argparse.SUPPRESS)

    def choice(self, name: str, choices: Sequence[str], *, default: str, bare: str, help_: str) -> None:
        """An option whose value may be left out: `--dry-run` alone means `--dry-run=client`."""
        self._bare[name] = f"{name}={bare}"
        self.add_argument(name, choices=choices, default=default, help=help_)

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """The command line; words may stand before, between and behind options."""
        return self.parse_intermixed_args([self._plain(word) for word in argv])

    def _plain(self, word: str) -> str:
        """A word as argparse knows it."""
        found = _SWITCH.fullmatch(word)
        if found is None or found[1] not in self._switches:
            return self._bare.get(word, word)
        return f"--{found[1]}" if found[2].lower() == "true" else f"--{found[1]}-off"


def add_cluster(parser: Parser) -> None:
    """Which cluster, and which namespace of it."""
    group = parser.add_argument_group("cluster")
    group.add_argument("-n", "--namespace", metavar="NAME", help="the namespace meant (default: the cluster's own)")
    group.add_argument("--cluster", metavar="NAME", help="a cluster on this machine (default: $PENSTOCK_CLUSTER, main)")
    group.add_argument("--context", metavar="NAME", help="a context of the kubeconfig: a Kubernetes cluster")
    group.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig (default: $KUBECONFIG, ~/.kube/config)")


def add_words(parser: Parser, help_: str = "TYPE NAME..., TYPE/NAME..., or TYPE[,TYPE]") -> None:
    """Which objects."""
    parser.add_argument("words", nargs="*", metavar="OBJECT", help=help_)


def add_selection(parser: Parser, *, everywhere: bool = True, fields: bool = True) -> None:
    """Which of the objects of a kind."""
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="only objects with these labels: app=x,!old"
    )
    if fields:
        parser.add_argument("--field-selector", default="", metavar="FIELDS", help="only objects with these fields")
    if everywhere:
        parser.switch("-A", "--all-namespaces", help="in all namespaces")


def add_output(parser: Parser, kinds: str = "json, yaml, name, wide, jsonpath=..., custom-columns=...") -> None:
    """In which form."""
    parser.add_argument("-o", "--output", default="", metavar="FORMAT", help=f"one of {kinds}")


def add_files(parser: Parser, help_: str) -> None:
    """Manifests to read."""
    parser.add_argument("-f", "--filename", action="append", default=[], metavar="FILE", help=help_)
    parser.switch("-R", "--recursive", help=argparse.SUPPRESS)  # a directory is always read with all below it
    parser.add_argument("-k", "--kustomize", metavar="DIR", help=argparse.SUPPRESS)


def add_dry_run(parser: Parser, *, server: bool = True) -> None:
    """Only show what would happen."""
    where = ("none", "client", "server") if server else ("none", "client")
    parser.choice("--dry-run", where, default="none", bare="client", help_="only tell what would be done")


def duration(text: str) -> float:
    """A type for argparse: seconds of `90s` or `5m`."""
    from penstock.cli.objects.ages import seconds_of  # noqa: PLC0415  (only where one is given)

    try:
        return seconds_of(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem
