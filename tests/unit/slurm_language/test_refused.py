"""A job that Slurm started twice, and the node that refused it, are told from all that looks alike."""

import pytest

from penstock.slurm.refused import candidates, held_for, refusals
from penstock.slurm.rest.messages import JobReport, JobStateReport, NodeReport, Number

MOMENT = 1_794_810_817
NODE = {"name": "w1", "state": ("IDLE", "DRAIN"), "reason": "Duplicate jobid", "reason_set_by_user": "slurm"}
JOB = {"job_id": 7, "job_state": ("PENDING",), "state_reason": "JobHeldUser", "hold": True}
WORDS = "launch failed requeued held"


def moment(number: int | None = MOMENT) -> Number:
    return Number(set=number is not None, number=number or 0)


def node(**other: object) -> NodeReport:
    return NodeReport(**{**NODE, "reason_changed_at": moment(), **other})  # type: ignore[arg-type]


def job(**other: object) -> JobReport:
    given = {**JOB, "state_description": WORDS, "last_sched_evaluation": moment(MOMENT - 1), **other}
    return JobReport(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [("IDLE", "DRAIN"), ("IDLE", "DRAIN", "COMPLETING"), ("MIXED", "DRAIN")])
def test_a_node_that_slurm_drained_is_found_with_its_moment(state: tuple[str, ...]) -> None:
    assert refusals([node(state=state), node(name="w2", reason="")]) == {"w1": MOMENT}


@pytest.mark.parametrize(
    "other",
    [
        {"reason": "look at its fan"},
        {"reason": "duplicate jobid"},
        {"reason": "Duplicate jobid, says Bob"},
        {"reason_set_by_user": "root"},
        {"reason_set_by_user": ""},
        {"state": ("IDLE",)},  # 24.11 keeps the reason when the drain is over
        {"state": ("IDLE", "DRAIN", "UNDRAIN")},
    ],
)
def test_any_other_node_is_not(other: dict[str, object]) -> None:
    assert refusals([node(**other)]) == {}


@pytest.mark.parametrize("tried", [MOMENT, MOMENT - 1, MOMENT - 120])
def test_a_job_is_held_for_a_refusal_right_after_its_scheduling(tried: int) -> None:
    assert held_for(job(last_sched_evaluation=moment(tried)), [1, MOMENT])


@pytest.mark.parametrize(
    "other",
    [
        {"hold": False},
        {"state_reason": "JobHeldAdmin"},
        {"state_description": ""},
        {"state_description": "job requeued in held state"},
        {"last_sched_evaluation": moment(MOMENT + 1)},
        {"last_sched_evaluation": moment(MOMENT - 121)},
        {"last_sched_evaluation": moment(None)},
    ],
)
def test_a_job_that_is_held_for_anything_else_is_not(other: dict[str, object]) -> None:
    assert not held_for(job(**other), [MOMENT])


def test_only_jobs_that_wait_are_read_and_never_an_array_of_many_tasks() -> None:
    """Tasks that were never started are kept as one; one that was has a number of its own."""
    states = {
        "9": "PENDING", "2": "RUNNING", "3": "COMPLETED", "4_1": "PENDING", "4_2": "PENDING", "5_7": "PENDING",
        "6+0": "PENDING", "odd": "PENDING",
    }  # fmt: skip
    jobs = [JobStateReport(name, (state,)) for name, state in states.items()]
    jobs.append(JobStateReport(8, ("PENDING", "COMPLETING")))
    assert candidates(jobs) == [5, 6, 8, 9]
