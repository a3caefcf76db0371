"""A seat: one place of a NodeSet, the same whichever pod sits in it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.nodeset import NodeSet, ScalingMode
from penstock.render import names


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One place of a NodeSet: which worker a pod is."""

    pod_name: str | None
    """None in DaemonSet mode, where the API server makes the name."""
    key: str
    """What tells this worker's claims apart: the padded ordinal, or the Slurm node's name."""
    slurm_node: str | None
    """None when the machine, and with it the name, is not known yet."""
    machine: str | None = None
    """The machine that it is bound to, in DaemonSet mode."""


def has_own_name(node_set: NodeSet) -> bool:
    """Whether Slurm nodes are named by the set; else by the machines, which nobody knows beforehand."""
    return node_set.spec.scaling_mode is ScalingMode.STATEFUL_SET and not on_host_network(node_set)


def on_host_network(node_set: NodeSet) -> bool:
    """Whether workers share the network, and with it the name, of their machine."""
    return bool(node_set.spec.template.spec.get("hostNetwork"))


def seat(node_set: NodeSet, ordinal: int) -> Seat:
    """The seat of an ordinal in StatefulSet mode. On the host's network the machine's name is the Slurm node's."""
    node = None if on_host_network(node_set) else names.slurm_node(node_set, ordinal)
    return Seat(pod_name=names.worker(node_set, ordinal), key=names.padded(node_set, ordinal), slurm_node=node)


def machine_seat(slurm_node: str | None) -> Seat:
    """The seat on some machine in DaemonSet mode."""
    return Seat(pod_name=None, key=slurm_node or "", slurm_node=slurm_node)


def seat_on(node_set: NodeSet, machine: str, override: str | None = None) -> Seat:
    """The seat on a machine in DaemonSet mode; its Slurm node is called as the machine, or as its annotation says."""
    node = override or machine.partition(".")[0]
    return Seat(pod_name=names.machine_worker(node_set, machine), key=node, slurm_node=node, machine=machine)
