"""`penstock crds`: the CustomResourceDefinitions, made from the same types that decode your manifests.

With them comes the policy that keeps NodeSets from being deleted under their jobs: who has the kinds should have it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from penstock.api.crd import crd
from penstock.api.deletion import policy
from penstock.api.kinds import GROUP, KINDS
from penstock.api.manifest import write

_POLICY = f"{GROUP}_policy.yaml"
_EXAMPLES = """\
examples:
  penstock crds | kubectl apply --server-side -f -
  penstock crds --without-policy --directory charts/slurm-operator/crds
"""


def run(argv: Sequence[str]) -> int:
    """Print the CRDs and the policy, or write one file for each kind and one for the policy."""
    arguments = _parser().parse_args(argv)
    rules = [] if arguments.without_policy else policy()
    if arguments.directory is None:
        everything = [*(crd(info) for info in KINDS), *rules]
        sys.stdout.write(json.dumps(everything, indent=2) + "\n" if arguments.output == "json" else write(everything))
        return 0
    for name, text in (files() | ({_POLICY: write(rules)} if rules else {})).items():
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
        description="Print the CustomResourceDefinitions of the six kinds, and the policy (ValidatingAdmissionPolicy, "
        "Kubernetes 1.30) that refuses to delete a NodeSet in the foreground, which would end its jobs.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-d", "--directory", help="write one file per kind here instead of printing")
    parser.add_argument(
        "--without-policy", action="store_true", help="the kinds alone, for a cluster that is older, or has it already"
    )
    parser.add_argument(
        "-o", "--output", choices=("yaml", "json"), default="yaml", help="format when printing (default: %(default)s)"
    )
    return parser
