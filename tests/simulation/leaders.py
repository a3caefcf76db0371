"""Elections for simulated operators."""

from __future__ import annotations

from collections.abc import Callable

from penstock.cluster.leader import Election
from penstock.operator.runtime import MakeElection

from .loop import clock
from .port import Port


def elected(port: Port, identity: str) -> MakeElection:
    """How an operator behind this port is elected."""

    def make(on_lost: Callable[[], None]) -> Election:
        return Election(port, name="penstock", namespace="slurm", identity=identity, on_lost=on_lost, now=clock)

    return make
