"""How long the planner thinks about ten thousand workers: at rest, shrinking, updating, cordoned; CPU time."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from penstock.api.nodeset import NodeSet
from penstock.api.validation import decode
from penstock.cluster.resources import Meta, OwnerReference
from penstock.operator.nodeset.plan import plan
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
from penstock.render import labels
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


def _machines(*, cordoned: bool) -> dict[str, Machine]:
    names = [f"m{number}" for number in range(100)]
    return {name: Machine(Meta(name), MachineSpec(unschedulable=cordoned)) for name in names}


def _world(count: int, state: str) -> Snapshot:
    node_set = _node_set(count)
    newest = Snapshot(node_set=node_set, pods=()).revision
    pods = [_pod(number, newest) for number in range(count)]
    owner = OwnerReference("NodeSet", "n", "uid", controller=True)
    claims = [
        Claim(
            Meta(f"data-n-{number}", uid=f"c{number}", owner_references=(owner,)),
            ClaimSpec(ClaimResources({"storage": "1Gi"})),
        )
        for number in range(count)
    ]
    nodes = {pod.metadata.name: NodeReport(name=pod.metadata.name, state=(state, "DYNAMIC_NORM")) for pod in pods}
    return Snapshot(
        node_set=node_set, pods=pods, slurm=nodes, claims={one.metadata.name: one for one in claims},
        machines=_machines(cordoned=False),
    )  # fmt: skip


def _pod(number: int, revision: str) -> Pod:
    name = f"n-{number}"
    own = {
        HASH: revision, labels.CLUSTER: "slurm", labels.POD_HOSTNAME: name, labels.POD_INDEX: str(number),
        labels.SCALING_MODE: "StatefulSet",
    }  # fmt: skip
    ready = PodCondition("Ready", "True", last_transition_time="2026-11-16T08:00:00Z")
    return Pod(
        metadata=Meta(name, "hpc", f"uid-{number}", "1", labels=own),
        spec=PodSpec(node_name=f"m{number % 100}", hostname=name),
        status=PodStatus(phase="Running", conditions=(PodCondition("PodScheduled", "True"), ready)),
    )


if __name__ == "__main__":
    raise SystemExit(main())
