"""How fast: rendering of a large cluster, and the start of the command. Ratios are measured in one run."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from penstock.api.manifest import write
from penstock.api.validation import decode
from penstock.render.everything import render
from penstock.render.inventory import Inventory, References
from penstock.render.names import Domain

_ROUNDS = 15
_NODE_SETS = 100
_REFERENCE = {"apiVersion": "slinky.slurm.net/v1beta1"}


def main() -> int:
    """Measure and print."""
    inventory = _cluster(_NODE_SETS)
    objects = render(inventory).manifests
    rendering = _cpu(lambda: render(inventory))
    writing = _cpu(lambda: write(objects))
    bare, started = _command("-c", "pass"), _command("-m", "penstock", "--help")
    _row(f"render {_NODE_SETS} NodeSets ({len(objects)} objects)", rendering, "50 ms", reached=rendering < 0.050)
    _row("the same objects as YAML text", writing)
    _row("penstock --help", started, "150 ms", reached=started < 0.150)
    _row("a bare interpreter", bare)
    sys.stdout.write(
        f"\nrendering / writing YAML: {rendering / writing:.2f}\n--help / bare interpreter: {started / bare:.1f}\n"
    )
    return 0


def _cluster(count: int) -> Inventory:
    keys = {"slurmKeyRef": {"name": "k", "key": "slurm.key"}, "jwtKeyRef": {"name": "k", "key": "jwt.key"}}
    kinds = [decode(_REFERENCE | {"kind": "Controller", "metadata": {"name": "slurm"}, "spec": keys})]
    for number in range(count):
        container = {"resources": {"limits": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "4"}}}
        template = {"spec": {"hostname": f"set{number:03}-", "nodeSelector": {"pool": str(number)}}}
        spec = {"controllerRef": {"name": "slurm"}, "slurmd": container, "template": template, "partition": {}}
        kinds.append(decode(_REFERENCE | {"kind": "NodeSet", "metadata": {"name": f"set-{number:03}"}, "spec": spec}))
    return Inventory.of(kinds, references=References(), domain=Domain())


def _cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU, the best of several rounds: the others were disturbed."""
    best = float("inf")
    for _ in range(_ROUNDS):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def _command(*words: str) -> float:
    """Seconds of CPU of a child process, the best of several rounds."""
    best = float("inf")
    for _ in range(_ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, cwd=Path(__file__).parent)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def _row(what: str, seconds: float, bar: str = "", *, reached: bool = True) -> None:
    verdict = f"  (bar {bar}: {'reached' if reached else 'MISSED'})" if bar else ""
    sys.stdout.write(f"{what:<40} {seconds * 1000:8.1f} ms CPU{verdict}\n")


if __name__ == "__main__":
    raise SystemExit(main())
