"""Measure an operator of NodeSets at scale, on a real control plane with fake nodes.

    .venv/bin/python bench/operators scale --pods 1000,5000 -- .venv/bin/penstock operator
        --kubeconfig {kubeconfig} --namespaces {namespace} --health-address 127.0.0.1:8081
    .venv/bin/python bench/operators empty --pods 1000 -- ...            idle workers, all of them asked to leave
    .venv/bin/python bench/operators bare --pods 1000,5000       only the loop that operators are compared with

In ONE run: the same pods made by a bare loop, then by the operator; memory; a minute at rest; a start with all pods
there. Figures are ratios to the bare loop and the bare list, for seconds say more about the machine. `empty` has a bar,
twice the bare loop that drains and deletes, and ends with 1 when it is missed. With `--slurm` a played slurmrestd
knows all nodes; `--slurm-argument` says how this operator is told of it ({slurmrestd} is the URL).
"""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

# Python puts the directory that it runs before all others; the packages are found from their parents.
_BENCH = Path(__file__).resolve().parent.parent
sys.path[:1] = [str(_BENCH), str(_BENCH.parent / "tools")]

from operators import emptying, scale  # noqa: E402
from operators.report import Report  # noqa: E402
from operators.scene import Plan  # noqa: E402


def main() -> int:
    """Read the command line, measure, print; whatever was started is ended."""
    ours, command = _split(sys.argv[1:])
    chosen = _parser().parse_args(ours)
    if (chosen.verb == "bare") == bool(command):
        _parser().error(f"{chosen.verb} needs {'no' if command else 'an'} operator's command line behind --")
    # A shell may have told its background jobs to ignore ^C; both signals shall clean up.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    report = Report()
    plan = Plan(
        pods=sorted(int(count) for count in chosen.pods.split(",")),
        command=command,
        machines=chosen.machines,
        connections=chosen.connections,
        rest_seconds=chosen.rest,
        slurm_argument=chosen.slurm_argument if chosen.slurm or chosen.verb == "empty" else None,
        ready_url=chosen.ready_url,
        metrics_url=chosen.metrics_url,
        first_pass=chosen.first_pass,
    )
    stopped = False
    try:
        asyncio.run((emptying if chosen.verb == "empty" else scale).measure(plan, report))
    except KeyboardInterrupt:
        stopped = True  # what there is so far is shown all the same
    sys.stdout.write(report.json() if chosen.output == "json" else report.table())
    return 130 if stopped else 1 if report.missed else 0


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Our words, and the operator's behind the first `--`, whatever they look like."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/operators",
        usage="%(prog)s [-h] {scale,empty,bare} [OPTIONS] [-- COMMAND {kubeconfig} {namespace} ...]",
    )
    parser.add_argument("verb", choices=["scale", "empty", "bare"])
    parser.add_argument("--pods", default="1000,5000", help="sizes, one after the other (default: %(default)s)")
    parser.add_argument("--machines", type=int, default=50, help="fake nodes; each takes 1,000 pods and 256 CPUs")
    parser.add_argument("--connections", type=int, default=16, help="of the bare loop (default: %(default)s)")
    parser.add_argument("--rest", type=float, default=60.0, metavar="SECONDS", help="to watch at rest")
    parser.add_argument("--slurm", action="store_true", help="with a played slurmrestd that knows all nodes")
    parser.add_argument("--slurm-argument", default="--slurmrestd={slurmrestd}", help="appended to the command")
    parser.add_argument("--ready-url", default="http://127.0.0.1:8081/readyz", help="answers 200 when it is ready")
    parser.add_argument("--metrics-url", default="http://127.0.0.1:8080/metrics")
    parser.add_argument("--first-pass", default="", metavar="REGEX", help="in its metrics, once a pass is done")
    parser.add_argument("--output", choices=["table", "json"], default="table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
