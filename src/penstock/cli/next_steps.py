"""What to type next, once a cluster of this machine is up."""

from __future__ import annotations

from penstock.cli.named import said
from penstock.cli.starting import Begun
from penstock.engine import cgroups
from penstock.engine.layout import Layout
from penstock.machine import keys
from penstock.machine.applied import applied
from penstock.machine.manifest import NAMESPACE
from penstock.machine.ports import Ports


def next_steps(layout: Layout, begun: Begun) -> str:
    """Look, submit, log in, scale, stop: a line each, where there is something to do it with."""
    there = applied(begun.objects)
    which, first = said(layout), there.namespaces[0]
    steps = {"look": f"penstock status{which}{_in(first)}"}
    if login := there.first("LoginSet"):
        # Two who began it at once asked for different ports; one of them has it.
        ports = Ports.kept(layout) or begun.ports
        steps["submit"] = f"penstock slurm{which}{_in(login.namespace)} -- sbatch --wrap 'srun hostname'"
        steps["ssh"] = f"ssh -p {ports.ssh} -i {keys.private(layout)} root@127.0.0.1"
    if nodes := there.first("NodeSet"):
        steps["scale"] = f"penstock scale{which}{_in(nodes.namespace)} nodeset/{nodes.name} --replicas 5"
    steps["stop"] = f"penstock down{which}"
    lines = "".join(f"  {what:<8}  {words}\n" for what, words in steps.items())
    return f"\n{lines}\nLimits of containers are enforced by control groups ({_groups()}).\n"


def _in(namespace: str) -> str:
    return "" if namespace == NAMESPACE else f" -n {namespace}"


def _groups() -> str:
    here = cgroups.here()
    held = [name for name in ("cpu", "memory", "pids") if name in here.controllers]
    return f"{here.kind}: {', '.join(held)}" if held else f"{here.kind}: none of cpu, memory, pids"
