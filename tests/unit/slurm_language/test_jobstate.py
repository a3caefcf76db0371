"""A job is finished only when it is over for good, and holds its nodes until that is certain."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.slurm.jobstate import Base, Flag, parse

ENDED = [
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
]
KEEPING = ["COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING", "POWER_UP_NODE", "EXPEDITING"]
RETURNING = ["REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "EXPEDITING"]


@pytest.mark.parametrize("word", ENDED)
def test_an_ended_job_is_finished_and_holds_nothing(word: str) -> None:
    state = parse([word])
    assert state.finished
    assert not state.holds_node
    assert (state.running, state.pending) == (False, False)


@pytest.mark.parametrize("word", ENDED)
@pytest.mark.parametrize("flag", KEEPING)
def test_an_ended_job_that_is_still_on_its_node_is_not_finished(word: str, flag: str) -> None:
    state = parse([word, flag])
    assert state.holds_node
    assert not state.finished


@pytest.mark.parametrize("flag", RETURNING)
def test_a_job_on_its_way_back_to_the_queue_is_not_finished(flag: str) -> None:
    assert not parse(["FAILED", flag]).finished


def test_a_requeued_job_may_wait_and_still_clean_up() -> None:
    state = parse(["PENDING", "COMPLETING"])
    assert state.pending
    assert state.holds_node


@pytest.mark.parametrize(
    ("words", "pending", "running", "holds_node"),
    [
        (["PENDING"], True, False, False),
        (["PENDING", "REQUEUE_HOLD"], True, False, False),
        (["RUNNING"], False, True, True),
        (["RUNNING", "CONFIGURING"], False, True, True),
        (["SUSPENDED"], False, False, True),
        (["running"], False, True, True),
    ],
)
def test_a_job_waits_or_runs(words: list[str], pending: bool, running: bool, holds_node: bool) -> None:
    state = parse(words)
    assert (state.pending, state.running, state.holds_node) == (pending, running, holds_node)
    assert not state.finished


@pytest.mark.parametrize("words", [[], [""], ["COMPLETING"], ["HIBERNATED"], ["RUNNING", "COMPLETED"]])
def test_a_job_in_an_unknown_state_holds_its_node_and_is_nothing_else(words: list[str]) -> None:
    state = parse(words)
    assert state.base is None
    assert state.holds_node
    assert (state.finished, state.running, state.pending) == (False, False, False)


def test_a_flag_of_a_newer_slurm_does_not_keep_a_job_from_being_finished_but_holds_its_node() -> None:
    state = parse(["COMPLETED", "SLEEPWALKING"])
    assert state.unfamiliar == {"SLEEPWALKING"}
    assert state.finished
    assert state.holds_node


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["PENDING"], "waiting"),
        (["OUT_OF_MEMORY"], "out of memory"),
        (["CANCELLED", "COMPLETING"], "cleaning up"),
        (["RUNNING", "CONFIGURING"], "its nodes are starting"),
        (["PENDING", "REQUEUED", "SPECIAL_EXIT"], "held after a special exit"),
        ([], "unknown"),
    ],
)
def test_the_most_telling_state_is_said_in_plain_words(words: list[str], word: str) -> None:
    assert parse(words).word == word


def test_every_state_has_its_own_word() -> None:
    said = [parse([state]).word for state in [*Base, *Flag]]
    assert len(set(said)) == len(said) == 28
    assert "unknown" not in said


@given(st.lists(st.sampled_from([*Base, *Flag, "FROZEN", ""]), max_size=4))
@settings(max_examples=100, deadline=None)
def test_whatever_is_known_to_be_on_a_node_is_not_finished(words: list[str]) -> None:
    state = parse(words)
    assert state.pending + state.running + state.finished <= 1
    assert state.holds_node or state.pending or state.finished or {*words} & {*RETURNING}
    assert not (state.finished and {*words} & {"RUNNING", "SUSPENDED", *KEEPING})
