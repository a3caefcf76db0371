"""Thousands of pods and nodes say the same few things: they are kept once."""

from __future__ import annotations

import msgspec

from penstock.api.objects import Json
from penstock.operator.resources import Pod
from penstock.slurm.rest.messages import NodeReport


def read_pod(name: str, **status: object) -> Pod:
    """A pod as the API server tells it."""
    owner = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "name": "n", "uid": "u"}
    told: Json = {"metadata": {"name": name, "ownerReferences": [owner]}, "status": status}
    return msgspec.json.decode(msgspec.json.encode(told), type=Pod)


READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def test_what_pods_say_alike_is_kept_once() -> None:
    a, b = (read_pod(name, conditions=[READY], containerStatuses=[{"name": "slurmd"}]) for name in "ab")
    assert a.status.conditions[0] is b.status.conditions[0]
    assert a.status.container_statuses is b.status.container_statuses
    assert a.metadata.owner_references is b.metadata.owner_references


def test_what_differs_stays_different() -> None:
    a, b = read_pod("a", conditions=[READY]), read_pod("b", conditions=[{**READY, "status": "False"}])
    assert (a.status.conditions[0].status, b.status.conditions[0].status) == ("True", "False")


def test_nodes_share_their_states_and_partitions() -> None:
    told = [{"name": name, "state": ["IDLE", "DYNAMIC_NORM"], "partitions": ["p"]} for name in "ab"]
    a, b = msgspec.json.decode(msgspec.json.encode(told), type=list[NodeReport])
    assert (a.state is b.state, a.partitions is b.partitions, a.name, b.name) == (True, True, "a", "b")
