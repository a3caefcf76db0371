"""Which Slurm nodes take no jobs, and because of whom.

A node drains because its worker leaves, because somebody cordoned the worker or its machine, or because somebody told
Slurm so. The first three are wishes that stand in Kubernetes: the drain follows them, and goes when they go. The last
is a person's own word, or a node's own that its walls do not hold, and is never undone here. Whose a drain is, its
reason tells, and a mark in the node's `extra`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Cause, Drain, Leaving
from penstock.operator.resources import Machine, Pod
from penstock.slurm.nodestate import Base
from penstock.slurm.rest.messages import NodeReport

PENSTOCK, SLINKY = "penstock: ", "slurm-operator: "
OURS = (PENSTOCK, SLINKY)
"""How the reasons of our own drains begin, and of Slinky's, whose clusters we may have taken over."""
WALLS = "penstock-walls: "
"""How the reason of a node begins that drains itself because its walls do not hold: spank/selftest/slurm.h says it."""
MARK = "penstock: drained"
"""How a node's `extra` begins while it drains because of us; what follows are notes about that drain."""
SCALE_IN = f"{PENSTOCK}{Cause.SCALE_IN.value}"
CORDONS = _OLD, _SHORT = ("nodeset.slinky.slurm.net/pod-cordon", "slinky.slurm.net/pod-cordon")
"""Annotations of a worker with which a person has its node drained: Slinky's, and that of the first documents."""
CORDON_REASON = "nodeset.slinky.slurm.net/node-cordon-reason"
"""Annotation of a machine: what Slurm is told as reason."""
_LONGEST_REASON = 256
_LAST_WORDS = re.compile("terminat|pod ends", re.IGNORECASE)
"""What a worker says of itself when it ends, over whatever reason there was."""


def is_our_drain(node: NodeReport) -> bool:
    """Whether a node drains because of us alone. Who drained it since, in their own words, keeps it so."""
    if not node.condition.drain:
        return False
    if node.extra.startswith(MARK):
        return node.reason.startswith(OURS)
    return node.reason.startswith(SLINKY) and not node.extra and not _LAST_WORDS.search(node.reason)


def broken_walls(node: NodeReport) -> str | None:
    """What a node's own proof of its walls found, if it drains for that; the node itself lifts that drain."""
    # Slurm 24.11 leaves the reason of a drain that is over.
    return node.reason.removeprefix(WALLS) if node.reason.startswith(WALLS) and node.condition.drain else None


def reason_for(one: Leaving, revision: str) -> str:
    """What Slurm is told about a worker that leaves."""
    words = f"update to {revision}" if one.cause is Cause.UPDATE else one.cause.value
    return f"{PENSTOCK}{words}"


def is_cordoned(now: Snapshot, pod: Pod) -> bool:
    """Whether somebody cordoned a worker, or its machine."""
    return _pod_cordoned(pod) or pod.spec.node_name in now.cordoned


def cordon_reason(now: Snapshot, pod: Pod) -> str | None:
    """Why the node of a worker that stays shall drain; None when it shall not."""
    machine = now.cordoned.get(pod.spec.node_name)
    return _pod_reason(pod) if machine is None else _machine_reason(now, machine)


def _pod_reason(pod: Pod) -> str | None:
    # Who it is, the node tells: nodes with one reason are drained in one request.
    return f"{PENSTOCK}its pod is cordoned" if _pod_cordoned(pod) else None


def _machine_reason(now: Snapshot, machine: Machine) -> str:
    return f"{PENSTOCK}{_told(now, machine) or 'its machine is cordoned'}"


def _pod_cordoned(pod: Pod) -> bool:
    given = pod.metadata.annotations
    if not given:
        return False
    return given.get(_OLD, "").lower() == "true" or given.get(_SHORT, "").lower() == "true"


def _told(now: Snapshot, machine: Machine) -> str:
    """What people, or the conditions of the machine, say; as Slurm can hold it."""
    written = machine.metadata.annotations.get(CORDON_REASON, "") or "; ".join(_conditions(now, machine))
    plain = "".join(" " if letter in "\t\r\n" else letter for letter in written)
    return "".join(letter for letter in plain if letter.isprintable()).strip()[:_LONGEST_REASON]


def _conditions(now: Snapshot, machine: Machine) -> Iterator[str]:
    for one in machine.status.conditions:
        if one.type in now.told_conditions and one.status == "True":
            yield f"({one.reason}: {one.message})"


def cordon_orders(
    now: Snapshot, staying: Iterable[Pod], left: AbstractSet[str] = frozenset()
) -> tuple[list[Drain], list[str]]:
    """Drains to order for workers that stay, and nodes to give back; not those that others leave, who may be twins."""
    if not now.slurm:
        return [], []
    drain, undrain = list[Drain](), list[str]()
    reasons = {name: _machine_reason(now, machine) for name, machine in now.cordoned.items()}
    for pod in staying:
        report = now.report(pod)
        # One that ended with its machine may be called ready for ever.
        if report is None or pod.ended or report.name in left:
            continue
        reason, drains = reasons.get(pod.spec.node_name) or _pod_reason(pod), report.condition.drain
        if reason is None:
            if drains and is_our_drain(report) and pod.ready_since is not None:
                undrain.append(report.name)
        elif (is_our_drain(report) and report.reason != reason) if drains else _takes_jobs(report):
            # Slurm 24.11 leaves the reason of a drain that is over: only that of a node that drains counts.
            drain.append(Drain(pod, report.name, reason))
    return drain, undrain


def _takes_jobs(node: NodeReport) -> bool:
    """Whether a node that does not drain would get some."""
    return Base.DOWN not in node.condition.bases
