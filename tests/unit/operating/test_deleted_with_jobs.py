"""What is said about the jobs of a NodeSet that is deleted with them (NS-8)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.rendering.builders import node_set

from penstock.operator.nodeset.bounded import Act, bounded, prospect, terms
from penstock.operator.nodeset.drains import MARK
from penstock.operator.nodeset.snapshot import ON_DELETION

from .test_bounded import SINCE, node
from .workers import given

TERMS = terms(replace(given(1, of=node_set("n", metadata={"annotations": {ON_DELETION: "Cancel"}})), deleting=True))
"""Of a NodeSet that says nothing of a timeout."""
WARNED, ENDED = f"{MARK} warned={SINCE},{SINCE + 1},cancel", f"{MARK} ended={SINCE},cancel"


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("", "jobs still run on it, which are warned and cancelled: the NodeSet is deleted with them"),
        (WARNED, "jobs still run on it, which are cancelled: the NodeSet is deleted with them; they have been warned"),
        (ENDED, "Slurm was told to cancel the jobs that run on it; Slurm is still ending them"),
    ],
)
def test_no_timeout_is_told_of(extra: str, words: str) -> None:
    """There is none, and a wait of 0s is nobody's word."""
    assert TERMS.anyones
    assert prospect(TERMS, node(extra=extra)) == words


@pytest.mark.parametrize(("extra", "act"), [("", Act.WARN), (WARNED, Act.CANCEL)])
def test_what_is_done_to_the_jobs_is_done_because_their_set_is_deleted(extra: str, act: Act) -> None:
    [order] = bounded(TERMS, [node(extra=extra)], SINCE + 600).orders
    assert order.act is act
    assert order.why == f"the NodeSet is deleted with its jobs ({ON_DELETION}: Cancel)"
