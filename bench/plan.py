"""How long the planner thinks about ten thousand workers, in CPU time: at rest, shrinking, updating, cordoned.

Once more with a worker on each machine, and in a maintenance window.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from penstock.api.nodeset import NodeSet
from penstock.api.validation import decode
from penstock.cluster.resources import Meta, OwnerReference
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.reservation import name_of
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.resources import (
    Claim,
    ClaimResources,
    ClaimSpec,
    Machine,
    MachineSpec,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
)
from penstock.render import labels, names
from penstock.slurm.rest.messages import NodeReport

_COUNT, _ROUNDS, _BAR = 10_000, 7, 0.100


def main() -> int:
    """Measure and print."""
    rest = _world(_COUNT, "IDLE")
    busy = _world(_COUNT, "ALLOCATED")
    cases = {
        "at rest": rest,
        "all shall go, idle": replace(rest, node_set=_node_set(0)),
        "half shall go, busy": replace(busy, node_set=_node_set(_COUNT // 2)),
        "all are of an old template": replace(busy, node_set=_node_set(_COUNT, extraConf="Weight=2")),
        "all machines are cordoned": replace(rest, machines=_machines(cordoned=True)),
        "nobody is there": replace(rest, pods=(), claims={}),
        "deleted": replace(busy, deleting=True),
        **_on_each_machine(),
        "ScheduledUpdate, in the window": _in_window(),
    }
    missed = [name for name, now in cases.items() if not _row(name, now)]
    return 1 if missed else 0


def _row(name: str, now: Snapshot) -> bool:
    best = float("inf")
    for _ in range(_ROUNDS):
        fresh = replace(now)  # without what a snapshot remembers
        began = time.process_time()
        plan(fresh)
        best = min(best, time.process_time() - began)
    reached = best < _BAR
    verdict = "reached" if reached else "MISSED"
    sys.stdout.write(f"plan, {_COUNT} workers, {name:<30} {best * 1000:7.1f} ms CPU  (bar 100 ms: {verdict})\n")
    return reached


def _node_set(replicas: int, **spec: object) -> NodeSet:
    claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    body = {
        "apiVersion": "slinky.slurm.net/v1beta1",
        "kind": "NodeSet",
        "metadata": {"name": "n", "namespace": "hpc", "uid": "uid"},
        "spec": {
            "controllerRef": {"name": "slurm"}, "replicas": replicas, "volumeClaimTemplates": [claim],
            "persistentVolumeClaimRetentionPolicy": policy, **spec,
        },
    }  # fmt: skip
    made = decode(body)
    if not isinstance(made, NodeSet):
        raise TypeError(type(made))
    return made


def _on_each_machine() -> dict[str, Snapshot]:
    """DaemonSet mode: all is well, half of the machines are meant for others now, half of them lack their worker."""
    node_set = _node_set(0, scalingMode="DaemonSet")
    machines = _machines(_COUNT, cordoned=False)
    newest = Snapshot(node_set=node_set, pods=()).revision
    pods = [_pod(names.machine_worker(node_set, one), one, one, newest, mode="DaemonSet") for one in machines]
    well = replace(
        _around(node_set, pods, "IDLE"), machines=machines, takers=[*machines.values()], keepers=machines.keys()
    )
    half = [*machines][: _COUNT // 2]
    return {
        "DaemonSet, at rest": well,
        "DaemonSet, half shall go": replace(well, takers=[machines[one] for one in half], keepers={*half}),
        "DaemonSet, half are missing": replace(well, pods=pods[: _COUNT // 2]),
    }


def _in_window() -> Snapshot:
    """All workers are of an old template, and the window is open on all of them."""
    window = {"startTime": "2026-11-16T08:00:00Z", "duration": "4h"}
    strategy = {"type": "ScheduledUpdate", "scheduledUpdate": window}
    node_set = _node_set(_COUNT, updateStrategy=strategy, extraConf="Weight=2")
    now = replace(_world(_COUNT, "ALLOCATED"), node_set=node_set)
    state, window_of = ("ALLOCATED", "MAINTENANCE", "DYNAMIC_NORM"), name_of(node_set)
    nodes = {name: NodeReport(name=name, state=state, reservation=window_of) for name in now.slurm or ()}
    return replace(now, slurm=nodes)


def _machines(count: int = 100, *, cordoned: bool) -> dict[str, Machine]:
    return {name: Machine(Meta(name), MachineSpec(unschedulable=cordoned)) for name in map("m{}".format, range(count))}


def _world(count: int, state: str) -> Snapshot:
    node_set = _node_set(count)
    newest = Snapshot(node_set=node_set, pods=()).revision
    pods = [_pod(f"n-{number}", f"n-{number}", f"m{number % 100}", newest) for number in range(count)]
    return replace(_around(node_set, pods, state), machines=_machines(cordoned=False))


def _around(node_set: NodeSet, pods: Sequence[Pod], state: str) -> Snapshot:
    """Workers, each with its claim and its Slurm node."""
    nodes = [pod.spec.hostname for pod in pods]
    owner = OwnerReference("NodeSet", "n", "uid", controller=True)
    spec = ClaimSpec(ClaimResources({"storage": "1Gi"}))
    keys = [node.removeprefix("n-") for node in nodes]
    claims = [Claim(Meta(f"data-n-{key}", uid=f"c-{key}", owner_references=(owner,)), spec) for key in keys]
    return Snapshot(
        node_set=node_set, pods=pods, claims={one.metadata.name: one for one in claims},
        slurm={node: NodeReport(name=node, state=(state, "DYNAMIC_NORM")) for node in nodes},
    )  # fmt: skip


def _pod(name: str, node: str, machine: str, revision: str, *, mode: str = "StatefulSet") -> Pod:
    own = {HASH: revision, labels.CLUSTER: "slurm", labels.POD_HOSTNAME: node, labels.SCALING_MODE: mode}
    if mode == "StatefulSet":
        own[labels.POD_INDEX] = name.rpartition("-")[2]
    ready = PodCondition("Ready", "True", last_transition_time="2026-11-16T08:00:00Z")
    return Pod(
        metadata=Meta(name, "hpc", f"uid-{name}", "1", labels=own),
        spec=PodSpec(node_name=machine, hostname=node),
        status=PodStatus(phase="Running", conditions=(PodCondition("PodScheduled", "True"), ready)),
    )


if __name__ == "__main__":
    raise SystemExit(main())
