"""`penstock slurm -- sinfo`: any Slurm command, on the login node."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.connecting import connect
from penstock.cli.objects.options import Parser, add_cluster
from penstock.cluster.errors import ClusterError
from penstock.machine.inside import LOGIN, login_pod

_USAGE = """\
usage: penstock slurm [--cluster NAME | --context NAME] [-n NAMESPACE] -- COMMAND...
       penstock slurm COMMAND...

Run a Slurm command in a login pod, with your terminal if you have one.

examples:
  penstock slurm -- sinfo
  penstock slurm -- srun --nodes=2 hostname
  penstock slurm -- sbatch --wrap 'sleep 60'
  penstock slurm -- bash                      a shell on the login node
"""


def run(argv: Sequence[str]) -> int:
    """Run it; its exit code is ours."""
    words = list(argv)
    if not words or words[0] in {"-h", "--help"}:
        sys.stdout.write(_USAGE)
        return 0 if words else 2
    ours, command = _split(words)
    if not command:
        sys.stderr.write("penstock slurm: no command; write it behind --, for instance: penstock slurm -- sinfo\n")
        return 2
    from penstock.cli import exec as execute  # noqa: PLC0415  (not for --help)

    try:
        pod = asyncio.run(_login_pod(ours))
    except (Complaint, ClusterError) as problem:
        sys.stderr.write(f"penstock slurm: {problem}\n")
        return 1
    terminal = ["--tty"] if sys.stdin.isatty() and sys.stdout.isatty() else []
    return execute.run([*ours, "--stdin", *terminal, "-c", LOGIN, pod, "--", *command])


async def _login_pod(words: list[str]) -> str:
    parser = Parser("slurm", "Run a Slurm command on the login node.", "")
    add_cluster(parser)
    async with connect(parser.read(words)) as session:
        return await login_pod(session.cluster, namespace=session.namespace)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Options before the first dashes, the command behind; who begins with a command means all of it."""
    if not words[0].startswith("-"):
        return [], words
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place + 1 :]
