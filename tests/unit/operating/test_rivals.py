"""Whose a Slurm node is when two NodeSets are meant for one machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.rendering.builders import node_set

from penstock.cluster.resources import Meta
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.report import conditions
from penstock.operator.nodeset.rivals import Rival, names_of
from penstock.operator.resources import Machine

from .workers import ended, given, idle

MACHINES = [Machine(metadata=Meta(name=name)) for name in ("m-0", "m-1.example.org")]
PER_MACHINE: dict[str, Any] = {"scalingMode": "DaemonSet"}


def rival(*workers: Any, elder: bool = False, takes: bool = True, **spec: Any) -> Rival:
    """Another NodeSet, `other`."""
    return Rival(node_set("other", **spec), [one.pod for one in workers], elder, lambda _: takes)


def test_a_name_belongs_to_who_has_a_worker_of_that_name() -> None:
    """However young its set is, and however its workers come to their names."""
    assert names_of([rival(idle(0, node="m-0"))], MACHINES) == {"m-0": "other"}
    assert names_of([rival(ended(0, node="m-0"))], MACHINES) == {}


def test_where_nobody_has_one_the_eldest_may_make_it() -> None:
    """So that those who begin at the same moment agree."""
    both = {"m-0": "other", "m-1": "other"}
    assert names_of([rival(elder=True, **PER_MACHINE)], MACHINES) == both
    assert names_of([rival(elder=False, **PER_MACHINE)], MACHINES) == {}
    assert names_of([rival(elder=True, takes=False, **PER_MACHINE)], MACHINES) == {}
    assert names_of([rival(elder=True)], MACHINES) == {}, "its nodes have names of its own"


def test_a_worker_whose_name_is_anothers_is_not_made_and_that_is_told() -> None:
    now = replace(given(0, **PER_MACHINE), takers=MACHINES, rivals={"m-0": "other"})
    decided = plan(now)
    assert [one.seat.machine for one in decided.create] == ["m-1.example.org"]
    assert [(one.seat.machine, one.reason) for one in decided.blocked] == [("m-0", "NamesInTheWay")]
    told = {one.type: one for one in conditions(now, decided, degraded=None)}["Degraded"]
    assert told.reason == "NamesInTheWay"
    assert 'NodeSet "other"' in told.message
    assert "nodeSelector" in told.message
