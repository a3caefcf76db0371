"""`penstock crds`: the CustomResourceDefinitions, made from the same types that decode your manifests."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from penstock.api.crd import crd
from penstock.api.kinds import GROUP, KINDS
from penstock.api.manifest import write

_EXAMPLES = """\
examples:
  penstock crds | kubectl apply --server-side -f -
  penstock crds --directory charts/slurm-operator/crds
"""


def run(argv: Sequence[str]) -> int:
    """Print the CRDs, or write one file for each."""
    arguments = _parser().parse_args(argv)
    if arguments.directory is None:
        all_crds = [crd(info) for info in KINDS]
        sys.stdout.write(json.dumps(all_crds, indent=2) + "\n" if arguments.output == "json" else write(all_crds))
        return 0
    for name, text in files().items():
        path = Path(arguments.directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        sys.stdout.write(f"{path}\n")
    return 0


def files() -> dict[str, str]:
    """One YAML text per kind, by the file name that charts use."""
    return {f"{GROUP}_{info.plural}.yaml": write([crd(info)]) for info in KINDS}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock crds",
        description="Print the CustomResourceDefinitions of the six kinds.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-d", "--directory", help="write one file per kind here instead of printing")
    parser.add_argument(
        "-o", "--output", choices=("yaml", "json"), default="yaml", help="format when printing (default: %(default)s)"
    )
    return parser
