"""What is, at one moment: everything that a plan for a NodeSet is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from penstock.api.nodeset import NodeSet, ScalingMode
from penstock.operator.nodeset.revision import HASH, revision
from penstock.operator.resources import Claim, Machine, Pod
from penstock.render import labels, names
from penstock.render.seat import Seat, seat_on
from penstock.slurm.rest.messages import NodeReport

ON_DELETION = "nodeset.slinky.slurm.net/on-deletion"
"""Annotation of a NodeSet: `Cancel` has its jobs cancelled when it is deleted; else they are waited for."""
REGISTERED = "SlurmNodeRegistered"
"""Condition of a worker that Slurm has known: it stays for as long as the pod does."""
HOSTNAME_OVERRIDE = "nodeset.slinky.slurm.net/hostname-override"
"""Annotation of a machine: what its Slurm node is called in DaemonSet mode."""
GIVEN_UP_AFTER = 60.0
"""Seconds of Slurm's silence after which people are told of it, and jobs that are to be cancelled not waited for."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A NodeSet, its workers, and what Kubernetes and Slurm say about them."""

    node_set: NodeSet
    pods: Sequence[Pod]
    """Its pods, leaving ones included."""
    orphans: Sequence[Pod] = ()
    """Pods that are its workers by their labels, and that nobody owns."""
    expected: AbstractSet[str] = frozenset()
    """Names of pods that we made and that the watch has not shown."""
    rivals: Mapping[str, str] = field(default_factory=dict)
    """Slurm nodes that are other NodeSets', with whose."""
    claims: Mapping[str, Claim] = field(default_factory=dict)
    """Its claims by name."""
    machines: Mapping[str, Machine] = field(default_factory=dict)
    """Kubernetes' nodes by name."""
    told_conditions: AbstractSet[str] = frozenset()
    """Conditions of machines that are passed on as the reason of a drain."""
    deleting: bool = False
    """Somebody deleted the NodeSet; it stays until its workers are gone."""
    slurm_time: int | None = None
    """What Slurm's clock says, in Unix seconds; None when it has not answered."""
    slurm: Mapping[str, NodeReport] | None = None
    """Slurm's nodes; None: Slurm has not answered, so nobody may assume."""
    slurm_trouble: str = ""
    """Why it has not."""
    slurm_silence: float | None = None
    """Seconds for which it has been asked in vain; None: it answers, or has not been asked."""
    suspended: AbstractSet[str] = frozenset()
    """Slurm nodes that say they are idle and whose jobs are suspended."""
    served: AbstractSet[str] = frozenset()
    """The uids of workers that were ready at some time."""
    takers: Sequence[Machine] = ()
    """Machines that may take a worker, in DaemonSet mode."""
    keepers: AbstractSet[str] = frozenset()
    """Names of machines that may keep theirs."""
    newest: str = ""
    """The hash of the template that workers should be of, if it is not that of the spec."""
    rolls: bool = True
    """Whether workers of other templates are replaced."""
    makes: bool = True
    """Whether workers are made at all."""
    machines_before: Mapping[str, str] = field(default_factory=dict)
    """Where the worker of each ordinal ran, with `pinToNode`."""
    moment: datetime | None = None
    """When it was taken."""
    young: AbstractSet[str] = frozenset()
    """The uids of ended workers that were seen for the first time a moment ago."""
    beginning: Mapping[str, float] = field(default_factory=dict)
    """Seconds until workers that began a moment ago have registered with Slurm, if they ever do; by uid."""

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
        if self.deleting:
            return 0
        if not self.per_machine:
            return self.node_set.spec.replicas
        kept = {pod.spec.node_name for pod in self.there if pod.spec.node_name in self.keepers}
        return len(kept | {machine.metadata.name for machine in self.takers})

    @cached_property
    def seats(self) -> dict[str, Seat]:
        """The seats on machines that may take a worker, by the machine's name. Found once: there may be thousands."""
        return {machine.metadata.name: seat_at(self.node_set, machine) for machine in self.takers}

    @cached_property
    def cordoned(self) -> dict[str, Machine]:
        """The machines that somebody cordoned, by name."""
        return {name: machine for name, machine in self.machines.items() if machine.spec.unschedulable}

    @cached_property
    def revision(self) -> str:
        """The newest template."""
        return self.newest or revision(self.node_set)

    def is_current(self, pod: Pod) -> bool:
        """Whether a worker is of the newest template. One that says nothing of it is taken for one."""
        return pod.metadata.labels.get(HASH, self.revision) == self.revision

    @property
    def given_up(self) -> bool:
        """Slurm has been asked in vain for too long."""
        return self.slurm_silence is not None and self.slurm_silence >= GIVEN_UP_AFTER

    @property
    def given_up_in(self) -> float | None:
        """Seconds until that will be so; None when it answers, or it is."""
        if self.slurm is not None or self.slurm_silence is None or self.given_up:
            return None
        return GIVEN_UP_AFTER - self.slurm_silence

    @property
    def cancels(self) -> bool:
        """The NodeSet is deleted, and its jobs are not to be waited for."""
        return self.deleting and self.node_set.metadata.annotations.get(ON_DELETION, "").lower() == "cancel"

    @property
    def per_machine(self) -> bool:
        """DaemonSet mode."""
        return self.node_set.spec.scaling_mode is ScalingMode.DAEMON_SET

    def has_served(self, pod: Pod) -> bool:
        """Whether a worker is, or ever was, ready, so that jobs may have come to it."""
        registered = any(one.type == REGISTERED for one in pod.status.conditions)
        return pod.ready_since is not None or registered or pod.metadata.uid in self.served

    def report(self, pod: Pod) -> NodeReport | None:
        """What Slurm says about a worker; None when it says nothing."""
        if self.slurm is None:
            return None
        return self.slurm.get(slurm_node(self.node_set, pod))


def slurm_node(node_set: NodeSet, pod: Pod) -> str:
    """The Slurm node of a worker. On its machine's network slurmd has the machine's name, and only the short one.

    Asked of the pod: the template may say something else by now.
    """
    if pod.spec.host_network:
        mode = pod.metadata.labels.get(labels.SCALING_MODE, node_set.spec.scaling_mode.value)
        if mode == ScalingMode.STATEFUL_SET.value:
            return pod.spec.node_name.partition(".")[0]
    return own_name(pod)


def own_name(pod: Pod) -> str:
    """The name that a worker has from its set: its Slurm node's, unless it is on its machine's network."""
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
