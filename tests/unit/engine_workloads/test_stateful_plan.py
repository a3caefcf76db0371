"""What is done about the pods of a StatefulSet, and that it is never too much at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.workloads.kinds import Pod, StatefulSetSpec
from penstock.engine.workloads.stateful_plan import REVISION, SHORT_LIFE, Plan, Situation, plan

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def pod(ordinal: int, state: str = "ready", *, revision: str = "new", age: float = 100.0) -> Pod:
    """A pod that is ready, starting, leaving or failed."""
    made = (NOW - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
    phase = {"ready": "Running", "leaving": "Running", "failed": "Failed"}.get(state, "Pending")
    ready = {"type": "Ready", "status": str(state in {"ready", "leaving"}), "lastTransitionTime": made}
    meta = {"name": f"web-{ordinal}", "uid": f"{ordinal}", "labels": {REVISION: revision}, "creationTimestamp": made}
    if state == "leaving":
        meta["deletionTimestamp"] = made
    return msgspec.convert({"metadata": meta, "status": {"phase": phase, "conditions": [ready]}}, Pod)


def given_set(*pods: Pod, **spec: Any) -> Situation:
    """A StatefulSet whose template is `new`."""
    return Situation(
        spec=msgspec.convert(spec, StatefulSetSpec), current="old", update="new", now=NOW,
        pods={one.ordinal: one for one in pods if one.ordinal is not None},
    )  # fmt: skip


def done(decided: Plan) -> list[str]:
    """A plan as words."""
    made = [f"create {one.ordinal} {one.revision}" for one in decided.create]
    return made + [f"delete {one.pod.ordinal}" for one in decided.delete]


def rolling(**fields: Any) -> dict[str, Any]:
    """A strategy."""
    return {"type": "RollingUpdate", "rollingUpdate": fields}


@pytest.mark.parametrize(
    ("situation", "expected"),
    [
        (given_set(replicas=3), ["create 0 new"]),
        (given_set(pod(0, "starting"), replicas=3), []),
        (given_set(pod(0), replicas=3), ["create 1 new"]),
        (given_set(replicas=2, podManagementPolicy="Parallel"), ["create 0 new", "create 1 new"]),
        (given_set(replicas=1, ordinals={"start": 5}), ["create 5 new"]),
        (given_set(pod(0), pod(1), pod(2), replicas=1), ["delete 2"]),
        (given_set(pod(0), pod(1), pod(2, "leaving"), replicas=1), []),
        (given_set(pod(0, "starting"), pod(1), replicas=1), []),
        (given_set(pod(0), pod(1), pod(2), replicas=1, podManagementPolicy="Parallel"), ["delete 2", "delete 1"]),
        (given_set(pod(0), pod(1, "failed"), replicas=2), ["delete 1"]),
        (given_set(pod(0), pod(1, revision="old"), replicas=2), ["delete 1"]),
        (given_set(pod(0, revision="old"), pod(1, "starting"), replicas=2), []),
        (given_set(pod(0, revision="old"), pod(1, revision="old"), replicas=2), ["delete 1"]),
        (
            given_set(pod(0, revision="old"), pod(1, revision="old"), replicas=2, updateStrategy={"type": "OnDelete"}),
            [],
        ),
        (
            given_set(pod(0, revision="old"), pod(1), replicas=2, updateStrategy=rolling(partition=1)),
            [],
        ),
        (given_set(pod(1), replicas=2, updateStrategy=rolling(partition=1)), ["create 0 old"]),
        (
            given_set(*(pod(n, revision="old") for n in range(4)), replicas=4,
                      updateStrategy=rolling(maxUnavailable=2)),
            ["delete 3", "delete 2"],
        ),
        (
            given_set(pod(0, "starting", revision="old"), pod(1, revision="old"), replicas=2,
                      podManagementPolicy="Parallel"),
            ["delete 0"],
        ),
    ],
)  # fmt: skip
def test_what_is_done(situation: Situation, expected: list[str]) -> None:
    assert done(plan(situation)) == expected


def test_one_that_ends_at_once_is_not_made_anew_at_once() -> None:
    young = given_set(pod(0, "failed", age=SHORT_LIFE - 4), replicas=1)
    assert done(plan(young)) == []
    assert plan(young).again == pytest.approx(4)


def test_a_pod_has_to_be_ready_for_as_long_as_asked() -> None:
    fresh = given_set(pod(0, age=20), replicas=2, minReadySeconds=30)
    assert done(plan(fresh)) == []
    assert plan(fresh).again == pytest.approx(10)


states = st.sampled_from(["ready", "starting", "leaving", "failed"])
pods = st.lists(st.tuples(states, st.sampled_from(["old", "new"])), max_size=7)


@given(
    pods=pods, gaps=st.sets(st.integers(0, 6)), replicas=st.integers(0, 7), parallel=st.booleans(),
    partition=st.integers(0, 7), at_once=st.integers(1, 3),
)  # fmt: skip
def test_never_too_much_at_once(
    pods: list[tuple[str, str]], gaps: set[int], replicas: int, parallel: bool, partition: int, at_once: int
) -> None:
    """An update takes no more pods out of service than allowed, and none below the partition; in order is in order."""
    there = [pod(n, state, revision=rev) for n, (state, rev) in enumerate(pods) if n not in gaps]
    policy = "Parallel" if parallel else "OrderedReady"
    strategy = rolling(partition=partition, maxUnavailable=at_once)
    now = given_set(*there, replicas=replicas, podManagementPolicy=policy, updateStrategy=strategy)
    decided = plan(now)
    updated = [one.pod for one in decided.delete if one.why == "update"]
    served = sum(now.available(one) for one in there if one.ordinal in now.ordinals)
    lost = sum(now.available(one) for one in updated)
    assert lost == 0 or served - lost >= replicas - at_once
    assert all((one.ordinal or 0) >= partition and one.ordinal in now.ordinals for one in updated)
    assert not any(one.pod.leaving for one in decided.delete)
    assert {one.ordinal for one in decided.create}.isdisjoint(now.pods)
    if not parallel:
        assert len(decided.create) <= 1
        assert sum(one.why == "scale-in" for one in decided.delete) <= 1
        ready_before = all(now.pods.get(n) and now.available(now.pods[n]) for n in range(replicas))
        assert ready_before or not [one for one in decided.delete if one.why in {"scale-in", "update"}]


@given(pods=pods, replicas=st.integers(0, 7), parallel=st.booleans())
def test_it_comes_to_an_end(pods: list[tuple[str, str]], replicas: int, parallel: bool) -> None:
    """Whatever it begins with, in the end there are as many as asked for, all new and ready, and nothing is to do.

    A pod that does not get ready is what Kubernetes waits for; here each does in its time.
    """
    there = {n: pod(n, state, revision=rev) for n, (state, rev) in enumerate(pods)}
    for _ in range(60):
        policy = "Parallel" if parallel else "OrderedReady"
        decided = plan(given_set(*there.values(), replicas=replicas, podManagementPolicy=policy))
        leaving = {n for n, one in there.items() if one.leaving}
        there = {n: pod(n, "failed" if one.ended else "ready", revision=one.metadata.labels[REVISION])
                 for n, one in there.items() if n not in leaving}  # fmt: skip
        for one in decided.delete:
            assert one.pod.ordinal is not None
            there[one.pod.ordinal] = pod(one.pod.ordinal, "leaving", revision=one.pod.metadata.labels[REVISION])
        for made in decided.create:
            there[made.ordinal] = pod(made.ordinal, "starting", revision=made.revision)
    assert sorted(there) == list(range(replicas))
    assert {one.metadata.labels[REVISION] for one in there.values()} <= {"new"}
