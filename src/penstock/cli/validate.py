"""`penstock validate`: what is wrong with manifests, in which line, and how to mend it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from penstock.cli import sources
from penstock.cli.sources import Manifests

_EXAMPLES = """\
examples:
  penstock validate cluster.yaml
  penstock validate manifests/ --output json
  helm template slurm ./chart | penstock validate -

Exit code 0: all can be used; 1: something is wrong; 2: the call itself was.
"""


def run(argv: Sequence[str]) -> int:
    """Check files and report."""
    arguments = _parser().parse_args(argv)
    try:
        loaded = sources.load(sources.texts(arguments.files), sources.Options(namespace=arguments.namespace))
    except sources.UnreadableSource as problem:
        sys.stderr.write(f"penstock validate: {problem}\n")
        return 2
    sys.stdout.write(_as_json(loaded) if arguments.output == "json" else _as_text(loaded))
    return 1 if loaded.errors else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock validate",
        description="Check manifests: what is wrong, in which line, and how to mend it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="manifest, directory of manifests, or - for standard input"
    )
    parser.add_argument(
        "-n", "--namespace", default="default", help="namespace of objects that name none (default: %(default)s)"
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="for people or for programs (default: %(default)s)",
    )
    return parser


def _as_text(loaded: Manifests) -> str:
    lines = [str(finding) for finding in loaded.findings]
    return "".join(f"{line}\n" for line in [*lines, _summary(loaded)])


def _summary(loaded: Manifests) -> str:
    errors, all_findings = len(loaded.errors), len(loaded.findings)
    counted = f"{_number(loaded.files, 'file')}, {_number(len(loaded.kinds), 'usable object')}"
    if loaded.others:
        counted += f", {_number(loaded.others, 'object')} of other kinds not looked at"
    if not all_findings:
        return f"{counted}: all is well"
    return f"{counted}: {_number(errors, 'error')}, {_number(all_findings - errors, 'warning')}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _as_json(loaded: Manifests) -> str:
    findings = [finding.as_json() for finding in loaded.findings]
    body = {"valid": not loaded.errors, "files": loaded.files, "objects": len(loaded.kinds), "findings": findings}
    return json.dumps(body, indent=2) + "\n"
