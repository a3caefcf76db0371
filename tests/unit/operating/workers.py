"""Workers in one line each: `given(1, idle(0), busy(1))` is a NodeSet of one replica with two workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from tests.unit.rendering.builders import node_set

from penstock.api.nodeset import NodeSet
from penstock.cluster.resources import Meta
from penstock.operator.nodeset.drains import MARK, SCALE_IN
from penstock.operator.nodeset.snapshot import Snapshot, seat_at
from penstock.operator.nodeset.steps import Plan
from penstock.operator.resources import Machine, MachineSpec, Pod, PodCondition, PodSpec, PodStatus, Taint
from penstock.render import labels
from penstock.slurm.rest.messages import NodeReport

SINCE = "2026-11-16T08:00:00Z"
PERSON = "bad memory, Ann"


@dataclass(frozen=True)
class Worker:
    """A pod, and what Slurm says of its node; None: nothing."""

    pod: Pod
    report: NodeReport | None = None


def pod(
    name: str,
    *,
    machine: str = "m",
    ready: bool = True,
    phase: str = "Running",
    going: bool = False,
    node: str = "",
    host_network: bool = False,
    conditions: tuple[PodCondition, ...] = (),
    **metadata: Any,
) -> Pod:
    """A pod; `node` is what Slurm calls it, unless that is its name."""
    is_ready = (PodCondition("Ready", "True", last_transition_time=SINCE),) if ready else ()
    own = {labels.CLUSTER: "slurm"} | ({labels.POD_HOSTNAME: node} if node else {})
    return Pod(
        metadata=Meta(
            name=name,
            namespace="hpc",
            uid=f"uid-{name}",
            resource_version="1",
            labels=own | metadata.pop("labels", {}),
            deletion_timestamp=SINCE if going else None,
            **metadata,
        ),
        spec=PodSpec(node_name=machine, host_network=host_network),
        status=PodStatus(phase=phase, conditions=is_ready + conditions),
    )


def said(name: str, *state: str, reason: str = "", extra: str = "") -> NodeReport:
    """What Slurm says of a node."""
    return NodeReport(name=name, state=state, reason=reason, extra=extra)


def _registered(ordinal: int, state: str, *, reason: str = "", extra: str = "", **of_pod: Any) -> Worker:
    name = f"n-{ordinal}"
    return Worker(pod(name, **of_pod), said(name, *state.split("+"), reason=reason, extra=extra))


def idle(ordinal: int, **of_pod: Any) -> Worker:
    """A worker without jobs."""
    return _registered(ordinal, "IDLE+DYNAMIC_NORM", **of_pod)


def busy(ordinal: int, **of_pod: Any) -> Worker:
    """A worker with jobs."""
    return _registered(ordinal, "MIXED", **of_pod)


def draining(ordinal: int, *, reason: str = SCALE_IN, extra: str = MARK, **of_pod: Any) -> Worker:
    """A worker with jobs that takes no more of them; we said so, unless another reason is given."""
    return _registered(ordinal, "ALLOCATED+DRAIN", reason=reason, extra=extra, **of_pod)


def drained(ordinal: int, *, reason: str = SCALE_IN, extra: str = MARK, **of_pod: Any) -> Worker:
    """A worker that takes no jobs and has none; we said so, unless another reason is given."""
    return _registered(ordinal, "IDLE+DRAIN", reason=reason, extra=extra, **of_pod)


def puzzling(ordinal: int, state: str = "HIBERNATED", **of_pod: Any) -> Worker:
    """A worker of which Slurm says something that nobody understands."""
    return _registered(ordinal, state, **of_pod)


def stranger(ordinal: int, **of_pod: Any) -> Worker:
    """A worker that is ready and that Slurm does not know."""
    return Worker(pod(f"n-{ordinal}", **of_pod))


def starting(ordinal: int, **of_pod: Any) -> Worker:
    """A worker on a machine that is not ready yet, and that Slurm does not know."""
    return Worker(pod(f"n-{ordinal}", ready=False, phase="Pending", **of_pod))


def unplaced(ordinal: int, **of_pod: Any) -> Worker:
    """A worker that no machine has taken yet."""
    return Worker(pod(f"n-{ordinal}", machine="", ready=False, phase="Pending", **of_pod))


def ended(ordinal: int, **of_pod: Any) -> Worker:
    """A worker whose containers have ended for good, and not well unless a phase is given."""
    return Worker(pod(f"n-{ordinal}", ready=False, **{"phase": "Failed", **of_pod}))


def leaving(worker: Worker) -> Worker:
    """A worker that somebody deleted and that is not gone yet."""
    meta = msgspec.structs.replace(worker.pod.metadata, deletion_timestamp=SINCE)
    return Worker(msgspec.structs.replace(worker.pod, metadata=meta), worker.report)


def given(
    replicas: int,
    *workers: Worker,
    slurm: bool = True,
    expected: Iterable[str] = (),
    of: NodeSet | None = None,
    **spec: Any,
) -> Snapshot:
    """A NodeSet `n` with its workers, and Slurm's answer unless there is none."""
    reports = {one.report.name: one.report for one in workers if one.report}
    return Snapshot(
        node_set=of or node_set("n", replicas=replicas, **spec),
        pods=[one.pod for one in workers],
        expected=frozenset(expected),
        slurm=reports if slurm else None,
        slurm_trouble="" if slurm else "connection refused",
    )


def machine(name: str, *taints: Taint, cordoned: bool = False, **metadata: Any) -> Machine:
    """A machine."""
    return Machine(metadata=Meta(name=name, **metadata), spec=MachineSpec(unschedulable=cordoned, taints=taints))


EVERYWHERE = node_set("n", scalingMode="DaemonSet")
"""A NodeSet with one worker on every machine."""


def on(where: str, state: str = "IDLE", *, name: str = "", **of_pod: Any) -> Worker:
    """The worker of a machine, with what Slurm says of it; an empty state for a node it does not know."""
    seat = seat_at(EVERYWHERE, machine(where))
    made = pod(name or str(seat.pod_name), node=where, **{"machine": where, **of_pod})
    return Worker(made, said(where, *state.split("+")) if state else None)


def spread(takers: Iterable[str], *workers: Worker, keepers: Iterable[str] = ()) -> Snapshot:
    """`EVERYWHERE`, with the machines that take workers, and those that only keep theirs."""
    names = [*takers]
    return replace(
        given(0, *workers, of=EVERYWHERE),
        takers=tuple(machine(name) for name in names),
        keepers=frozenset([*names, *keepers]),
    )


def told(plan: Plan) -> list[str]:
    """A plan in words, one line for each step."""
    return [
        *(f"give back {node}" for node in plan.undrain),
        *(f"drain {one.node}" for one in plan.drain),
        *(f"tend {one.claim.metadata.name}: {one.why}" for one in plan.tend),
        *(f"claim {body['metadata']['name']}" for body in plan.claims),
        *(f"make {one.seat.pod_name}" for one in plan.create),
        *(f"label {name}" for name in plan.relabel),
        *(f"remove {one.pod.metadata.name}{' if drained' if one.drained else ''}" for one in plan.remove),
        *(f"wait for {one.pod.metadata.name}{' (unknown)' if one.unknown else ''}" for one in plan.wait),
    ]


def going(plan: Plan) -> list[Pod]:
    """The workers that are to go, now or later."""
    return [
        *(one.pod for one in plan.remove),
        *(one.pod for one in plan.drain),
        *(one.pod for one in plan.wait),
    ]
