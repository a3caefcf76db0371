"""The judge itself: what it lets pass, and what not."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from .judgement import LATE, MEMORY, Line, judge, lines
from .stream import Submission

ASKED = 100.0


def wrongs(began: int, ended: int, state: str, *, answered: bool = True, ends: Sequence[float] = ()) -> list[str]:
    """Each run begins 20 seconds after the one before, the first after one second, and lasts a second."""
    ran = [Line("a", "7", 0, ASKED + 1 + 20 * run, "began") for run in range(began)]
    ran += [Line("a", "7", 0, ASKED + 2 + 20 * run, "ended") for run in range(ended)]
    asked = [Submission("a", ASKED, "7" if answered else "")]
    return judge(asked, ran, {"a": state}, ends_of_slurmctld=ends).wrongs


def test_a_job_that_ran_once_is_well() -> None:
    """And Slurm must say so too."""
    assert wrongs(1, 1, "COMPLETED") == []
    assert wrongs(1, 1, "RUNNING") != []


def test_a_job_that_was_lost_with_its_node_may_have_begun_once() -> None:
    """SPEC ONE-2: reported by Slurm as failed by node loss."""
    assert wrongs(0, 0, "NODE_FAIL") == wrongs(1, 0, "NODE_FAIL") == []
    assert wrongs(2, 0, "NODE_FAIL") != []


def test_an_accepted_job_that_never_ran_is_wrong() -> None:
    """Unless nobody said that it was accepted."""
    assert wrongs(0, 0, "unknown") != []
    assert wrongs(0, 0, "unknown", answered=False) == []
    assert wrongs(2, 2, "COMPLETED", answered=False) != []


def test_what_slurmctld_forgot_ends_with_its_memory() -> None:
    """A second run is forgiven only next to a kill of slurmctld, which comes a moment before it is told of at most."""
    assert wrongs(2, 2, "COMPLETED", ends=[ASKED + 2]) == []
    assert wrongs(2, 2, "COMPLETED", ends=[ASKED + 1 - LATE]) == []
    assert wrongs(2, 2, "COMPLETED", ends=[ASKED + 2 + MEMORY + 1]) != []
    assert wrongs(2, 2, "COMPLETED", ends=[ASKED + 1 - LATE - 1]) != []
    assert wrongs(0, 0, "unknown", ends=[ASKED + MEMORY]) == []
    assert wrongs(0, 0, "unknown", ends=[ASKED + MEMORY + 1]) != []


def test_each_run_after_the_first_needs_a_kill_of_its_own() -> None:
    """One crash makes one run too many; a kill that comes after the last run explains none."""
    assert wrongs(3, 3, "COMPLETED", ends=[ASKED + 2, ASKED + 22]) == []
    assert wrongs(3, 3, "COMPLETED", ends=[ASKED + 2]) != []
    assert wrongs(3, 3, "COMPLETED", ends=[ASKED + 2, ASKED + 2.5]) != []
    assert wrongs(2, 2, "COMPLETED", ends=[ASKED + 22]) != []


def test_a_job_that_nobody_submitted_is_wrong() -> None:
    """A name is given once."""
    assert judge([], [Line("b", "1", 0, 0.0, "began")], {}, ends_of_slurmctld=[]).wrongs


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Cc", "Zs"]), max_size=5)))
def test_half_a_line_counts_for_nothing(words: list[str]) -> None:
    """A job may be killed while it writes."""
    assert len(lines(" ".join(words[:4]))) == 0
