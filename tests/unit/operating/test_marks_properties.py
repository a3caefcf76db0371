"""What holds for every mark, whatever a pod says already and whatever Slurm says of its node."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from hypothesis import given as always
from hypothesis import settings
from hypothesis import strategies as st

from penstock.operator.nodeset.drains import CORDONS, MARK, SCALE_IN
from penstock.operator.nodeset.marks import DRAINED_BY, TOPOLOGY, WALLS_BROKEN, Mark, is_ours, marks
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.resources import Pod, PodCondition
from penstock.slurm.nodestate import Base, Flag

from .test_marks import PROTECT, on, told
from .workers import PERSON, SINCE, Worker, given, machine, pod, said

POD_TEXTS = st.dictionaries(
    st.sampled_from([DRAINED_BY, TOPOLOGY, *CORDONS, "other"]), st.sampled_from(["true", "pod", "sw:s1", ""])
)
STATES = st.lists(st.sampled_from([*Base, *Flag, "HIBERNATED"]), max_size=4).map(tuple)
REASONS = st.sampled_from(
    ["", PERSON, SCALE_IN, "penstock: its pod is cordoned", "slurm-operator: x", "penstock-walls: x"]
)
OTHERS = (PodCondition("Ready", "True", last_transition_time=SINCE), PodCondition("SlurmReady", "True"))


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Anything that can be: a pod that says whatever, a node in any state, a machine or none."""
    some = draw(st.lists(st.sampled_from(["Idle", "Drain", "Mixed", "Nonsense"]), unique=True))
    broken = draw(st.sampled_from([(), (PodCondition(WALLS_BROKEN, "True", message="x"),)]))
    protect = draw(st.sampled_from([{}, {PROTECT: "true"}, {PROTECT: "no"}]))
    body = pod(
        "n-0", ready=False, annotations=draw(POD_TEXTS), labels=protect, conditions=OTHERS + told(*some) + broken,
        phase=draw(st.sampled_from(["Running", "Running", "Failed"])), going=draw(st.booleans()),
    )  # fmt: skip
    report = said("n-0", *draw(STATES), reason=draw(REASONS), extra=draw(st.sampled_from(["", MARK])))
    worker = Worker(body, report if draw(st.booleans()) else None)
    where = machine("m", cordoned=draw(st.booleans()), annotations=draw(st.sampled_from([{}, {TOPOLOGY: "sw:s1"}])))
    now = given(1, worker, slurm=draw(st.booleans()), workloadDisruptionProtection=draw(st.booleans()))
    return on(now, where) if draw(st.booleans()) else now


@always(snapshots())
@settings(max_examples=300, deadline=None)
def test_once_is_enough_and_nothing_of_others_is_touched(now: Snapshot) -> None:
    """What is written brings the pod to where nothing more is to be written, whatever it said before."""
    for mark in marks(now):
        after = written(mark)
        assert marks(replace(now, pods=[after])) == []
        ours = {PROTECT, DRAINED_BY, TOPOLOGY}
        assert {*mark.labels, *mark.annotations} <= ours
        assert [one for one in after.status.conditions if not is_ours(one.type)] == [*OTHERS]


@always(snapshots())
@settings(max_examples=300, deadline=None)
def test_a_worker_that_may_be_busy_never_loses_its_protection(now: Snapshot) -> None:
    report = now.report(now.pods[0])
    may_be_busy = report is None or report.condition.busy
    if now.node_set.spec.workload_disruption_protection and may_be_busy:
        assert all(mark.labels.get(PROTECT, "true") == "true" for mark in marks(now))


def written(mark: Mark) -> Pod:
    """The pod when all of it is written."""
    meta, conditions = mark.pod.metadata, mark.pod.status.conditions
    if mark.conditions is not None:
        kept = tuple(one for one in conditions if not is_ours(one.type))
        conditions = kept + tuple(PodCondition(kind, "True", message=text) for kind, text in mark.conditions.items())
    return msgspec.structs.replace(
        mark.pod,
        metadata=msgspec.structs.replace(
            meta,
            labels={name: text for name, text in (meta.labels | {**mark.labels}).items() if text is not None},
            annotations={
                name: text for name, text in (meta.annotations | {**mark.annotations}).items() if text is not None
            },
        ),
        status=msgspec.structs.replace(mark.pod.status, conditions=conditions),
    )
