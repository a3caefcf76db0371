"""With pinToNode a worker returns to the machine it ran on, as long as it can (NS-7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from penstock.operator.nodeset.pins import pinned_machine, pins
from penstock.operator.nodeset.snapshot import Snapshot

from .workers import Worker, ended, given, idle, leaving, machine, starting, unplaced


def pinning(*workers: Worker, keep: Iterable[str] = "abc", take: Iterable[str] = "abc", **spec: Any) -> Snapshot:
    """A NodeSet with pins; machines are called by a letter."""
    now = given(len(workers), *workers, **{"pinToNode": True, **spec})
    return replace(now, keepers=frozenset(keep), takers=tuple(machine(name) for name in take))


@pytest.mark.parametrize(
    ("now", "before", "after"),
    [
        # Where workers run is remembered.
        (pinning(idle(0, machine="a"), idle(1, machine="b")), {}, {"0": "a", "1": "b"}),
        (pinning(idle(0, machine="b")), {"0": "a"}, {"0": "b"}),
        # A worker that is not there, or does not run, has a machine to return to.
        (pinning(), {"0": "a", "7": "b"}, {"0": "a", "7": "b"}),
        (pinning(unplaced(0)), {"0": "a"}, {"0": "a"}),
        (pinning(starting(0, machine="b")), {"0": "a"}, {"0": "a"}),
        (pinning(ended(0, machine="b")), {"0": "a"}, {"0": "a"}),
        (pinning(leaving(idle(0, machine="b"))), {"0": "a"}, {"0": "a"}),
        # Not to one that is gone or means somebody else by now.
        (pinning(keep="b"), {"0": "a", "1": "b"}, {"1": "b"}),
        (pinning(idle(0, machine="a"), keep="b"), {"0": "a"}, {}),
        # A machine that is cordoned for a while is remembered.
        (pinning(take=""), {"0": "a"}, {"0": "a"}),
        # There is room for one worker on a machine, unless the NodeSet says otherwise.
        (pinning(idle(1, machine="a")), {"0": "a", "1": "c"}, {"1": "a"}),
        (pinning(idle(1, machine="a"), oversubscribeNode=True), {"0": "a", "1": "c"}, {"0": "a", "1": "a"}),
        # Keys are numbers without zeros in front, in their order.
        (
            pinning(idle(10, machine="a"), idle(9, machine="b"), ordinalPadding=3),
            {"2": "c"},
            {"2": "c", "9": "b", "10": "a"},
        ),
        # Without the wish there is nothing to remember.
        (pinning(idle(0, machine="a"), pinToNode=False), {"0": "a"}, {}),
    ],
)
def test_machines_are_remembered_by_ordinal(now: Snapshot, before: dict[str, str], after: dict[str, str]) -> None:
    assert pins(now, before) == after
    assert [*pins(now, before)] == [*after]
    assert pins(now, after) == after, "and once is enough"


def test_on_every_machine_there_is_nothing_to_pin() -> None:
    assert pins(pinning(idle(0, machine="a"), scalingMode="DaemonSet"), {"0": "a"}) == {}


@pytest.mark.parametrize(
    ("now", "known", "where"),
    [
        (pinning(), {"0": "a"}, "a"),
        (pinning(), {"1": "a"}, None),
        (pinning(take="bc"), {"0": "a"}, None),
        (pinning(take=""), {"0": "a"}, None),
    ],
)
def test_a_new_worker_is_bound_to_its_machine_if_that_takes_one(
    now: Snapshot, known: dict[str, str], where: str | None
) -> None:
    assert pinned_machine(now, known, 0) == where
