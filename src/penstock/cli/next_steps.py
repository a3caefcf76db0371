"""What to type next, once a cluster of this machine is up."""

from __future__ import annotations

from penstock.cli.named import said
from penstock.cli.starting import Begun
from penstock.engine import cgroups
from penstock.engine.layout import Layout
from penstock.machine import keys
from penstock.machine.ports import Ports


def next_steps(layout: Layout, begun: Begun) -> str:
    """Look, submit, log in, scale, stop: a line each."""
    which = said(layout)
    # Two who began it at once asked for different ports; one of them has it.
    ports = Ports.kept(layout) or begun.ports
    key = keys.private(layout)
    return f"""
  look      penstock status{which}
  submit    penstock slurm{which} -- sbatch --wrap 'srun hostname'
  ssh       ssh -p {ports.ssh} -i {key} root@127.0.0.1
  scale     penstock scale{which} nodeset/slurm-worker-compute --replicas 5
  stop      penstock down{which}

Limits of containers are enforced by control groups ({_groups()}).
"""


def _groups() -> str:
    here = cgroups.here()
    held = [name for name in ("cpu", "memory", "pids") if name in here.controllers]
    return f"{here.kind}: {', '.join(held)}" if held else f"{here.kind}: none of cpu, memory, pids"
