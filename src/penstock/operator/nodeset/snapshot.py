"""What is, at one moment: everything that a plan for a NodeSet is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from penstock.api.nodeset import NodeSet, ScalingMode
from penstock.operator.resources import Machine, Pod
from penstock.render import labels, names
from penstock.render.seat import Seat, on_host_network, seat_on
from penstock.slurm.rest.messages import NodeReport

HOSTNAME_OVERRIDE = "nodeset.slinky.slurm.net/hostname-override"
"""Annotation of a machine: what its Slurm node is called in DaemonSet mode."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A NodeSet, its workers, and what Kubernetes and Slurm say about them."""

    node_set: NodeSet
    pods: Sequence[Pod]
    """Its pods, leaving ones included."""
    expected: AbstractSet[str] = frozenset()
    """Names of pods that we made and that the watch has not shown."""
    claims: AbstractSet[str] = frozenset()
    """Names of the claims there are."""
    slurm: Mapping[str, NodeReport] | None = None
    """Slurm's nodes; None: Slurm has not answered, so nobody may assume."""
    slurm_trouble: str = ""
    """Why it has not."""
    takers: Sequence[Machine] = ()
    """Machines that may take a worker, in DaemonSet mode."""
    keepers: AbstractSet[str] = frozenset()
    """Names of machines that may keep theirs."""
    moment: datetime | None = None
    """When it was taken."""
    young: AbstractSet[str] = frozenset()
    """The uids of ended workers that were seen for the first time a moment ago."""

    @cached_property
    def there(self) -> list[Pod]:
        """Pods that nobody has deleted."""
        return [pod for pod in self.pods if not pod.leaving]

    @cached_property
    def ready(self) -> list[Pod]:
        """Those of them that are ready. Found once: with thousands of workers each question counts."""
        return [pod for pod in self.there if pod.ready_since is not None and not pod.ended]

    @cached_property
    def desired(self) -> int:
        """How many workers there should be. One that its machine only keeps is wanted as long as it is there."""
        if not self.per_machine:
            return self.node_set.spec.replicas
        kept = {pod.spec.node_name for pod in self.there if pod.spec.node_name in self.keepers}
        return len(kept | {machine.metadata.name for machine in self.takers})

    @property
    def per_machine(self) -> bool:
        """DaemonSet mode."""
        return self.node_set.spec.scaling_mode is ScalingMode.DAEMON_SET

    def report(self, pod: Pod) -> NodeReport | None:
        """What Slurm says about a worker; None when it says nothing."""
        return None if self.slurm is None else self.slurm.get(slurm_node(self.node_set, pod))


def slurm_node(node_set: NodeSet, pod: Pod) -> str:
    """The Slurm node of a worker. On its machine's network slurmd has the machine's name, and only the short one."""
    if node_set.spec.scaling_mode is ScalingMode.STATEFUL_SET and on_host_network(node_set):
        return pod.spec.node_name.partition(".")[0]
    return pod.metadata.labels.get(labels.POD_HOSTNAME) or pod.spec.hostname or pod.metadata.name


def ordinal(pod: Pod) -> int:
    """The ordinal of a worker in StatefulSet mode; -1 when its name has none."""
    digits = pod.metadata.labels.get(labels.POD_INDEX) or pod.metadata.name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else -1


def seat_at(node_set: NodeSet, machine: Machine) -> Seat:
    """The seat on a machine."""
    return seat_on(node_set, machine.metadata.name, machine.metadata.annotations.get(HOSTNAME_OVERRIDE))


def claim_names(node_set: NodeSet, one: Seat) -> list[str]:
    """The claims of a seat."""
    return [names.claim(node_set, each.metadata.name, one.key) for each in node_set.spec.volume_claim_templates]
