"""What a node's state means for those who want to delete it: in doubt, it is busy."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.slurm.nodestate import Base, Flag, parse, parse_sinfo

BUSY = {"ALLOCATED", "MIXED", "COMPLETING"}
CERTAIN = {"ALLOCATED", "DOWN", "ERROR", "FUTURE", "IDLE", "MIXED"}

anything = st.lists(st.sampled_from([*Base, *Flag, "FROZEN", "DRAINED", "idle", ""]), max_size=6)


@pytest.mark.parametrize(
    ("words", "busy", "draining", "drained"),
    [
        (["IDLE"], False, False, False),
        (["ALLOCATED", "DRAIN"], True, True, False),
        (["MIXED", "DRAIN", "DYNAMIC_NORM"], True, True, False),
        (["IDLE", "COMPLETING", "DRAIN"], True, True, False),
        (["IDLE", "DRAIN", "DYNAMIC_NORM"], False, False, True),
        (["DOWN", "DRAIN", "NOT_RESPONDING"], False, False, True),
        (["IDLE", "DRAIN", "UNDRAIN"], False, False, False),
        (["idle", " drain "], False, False, True),
    ],
)
def test_drained_means_asked_to_drain_and_empty(words: list[str], busy: bool, draining: bool, drained: bool) -> None:
    state = parse(words)
    assert (state.busy, state.draining, state.drained) == (busy, draining, drained)
    assert state.known


@pytest.mark.parametrize(
    "words", [[], [""], ["DRAIN"], ["UNKNOWN", "DRAIN"], ["INVALID", "DRAIN"], ["HIBERNATED", "DRAIN"]]
)
def test_an_unknown_state_is_never_safe(words: list[str]) -> None:
    """No answer allows to delete the node, whichever way the question is put."""
    state = parse(words)
    assert not state.known
    assert state.busy
    assert not state.drained
    assert not state.responding
    assert state.base is Base.UNKNOWN


def test_a_state_that_contradicts_itself_counts_as_its_worst_part() -> None:
    assert parse(["IDLE", "MIXED", "DRAIN"]).busy
    assert not parse(["IDLE", "UNKNOWN", "DRAIN"]).drained
    assert parse(["MIXED", "IDLE", "DOWN"]).base is Base.DOWN, "the first in the public order"


def test_a_flag_of_a_newer_slurm_is_kept_and_changes_nothing_else() -> None:
    state = parse(["IDLE", "DRAIN", "SLEEPWALKING"])
    assert state.unfamiliar == {"SLEEPWALKING"}
    assert state.drained


def test_a_node_that_does_not_respond_says_so() -> None:
    assert parse(["IDLE"]).responding
    assert not parse(["IDLE", "NOT_RESPONDING"]).responding


@given(anything)
@settings(max_examples=100, deadline=None)
def test_only_an_empty_node_in_a_certain_state_is_drained(words: list[str]) -> None:
    given_words = {word.upper() for word in words}
    state = parse(words)
    if state.drained:
        assert "DRAIN" in given_words
        assert not given_words & (BUSY | {"UNKNOWN", "UNDRAIN"})
        assert given_words & CERTAIN
    assert state.drain == (state.draining or state.drained)
    assert not (state.draining and state.drained)


# State and word as libslurmfull 26.05 prints them (24.11 for MIXED+FAIL).
PRINTED = [
    ("IDLE", "IDLE"),
    ("IDLE+NOT_RESPONDING", "IDLE*"),
    ("IDLE+POWERED_DOWN", "idle~"),
    ("IDLE+DRAIN", "DRAINED"),
    ("IDLE+DRAIN", "DRAIN"),
    ("UNKNOWN+DRAIN", "DRAINED"),
    ("IDLE+COMPLETING", "COMP"),
    ("IDLE+RESERVED", "RESV"),
    ("IDLE+PLANNED", "PLND"),
    ("IDLE+BLOCKED", "BLOCKED"),
    ("IDLE+MAINTENANCE", "MAINT"),
    ("IDLE+REBOOT_ISSUED", "BOOT^"),
    ("ALLOCATED", "alloc"),
    ("ALLOCATED+COMPLETING", "ALLOCATED+"),
    ("ALLOCATED+DRAIN", "DRAINING"),
    ("ALLOCATED+DRAIN+NOT_RESPONDING", "drng*"),
    ("ALLOCATED+INVALID_REG", "INVAL"),
    ("ALLOCATED+FAIL", "FAILING"),
    ("MIXED+FAIL", "FAIL"),
    ("MIXED+PLANNED", "mix-"),
    ("MIXED+POWERING_UP", "MIXED#"),
    ("DOWN+COMPLETING", "DOWN"),
    ("DOWN+NOT_RESPONDING", "down*"),
    ("FUTURE", "FUTR"),
    ("UNKNOWN", "UNK"),
]


@pytest.mark.parametrize(("state", "word"), PRINTED)
def test_a_word_of_sinfo_never_promises_more_than_the_state_behind_it(state: str, word: str) -> None:
    truth, shown = parse(state.split("+")), parse_sinfo(word)
    assert shown.busy or not truth.busy
    assert truth.drained or not shown.drained
    assert shown.drain == truth.drain
    assert not shown.unfamiliar


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("IDLE+DRAIN", ["IDLE", "DRAIN"]),
        ("DOWN+DRAIN", ["DOWN", "DRAIN"]),
        ("IDLE*+DRAIN", ["IDLE", "NOT_RESPONDING", "DRAIN"]),
        ("mix-", ["MIXED", "PLANNED"]),
        ("idle~", ["IDLE", "POWERED_DOWN"]),
        ("alloc@", ["ALLOCATED", "REBOOT_REQUESTED"]),
        ("comp*", ["COMPLETING", "NOT_RESPONDING"]),
        (" idle\n", ["IDLE"]),
        ("allocated+", ["ALLOCATED", "COMPLETING"]),
        ("", []),
    ],
)
def test_marks_and_sums_are_taken_apart(text: str, words: list[str]) -> None:
    assert parse_sinfo(text) == parse(words)


def test_a_sum_of_scontrol_is_precise_where_the_word_of_sinfo_is_not() -> None:
    assert parse_sinfo("IDLE+DRAIN").drained
    assert not parse_sinfo("drained").drained
    assert parse_sinfo("draining").draining
