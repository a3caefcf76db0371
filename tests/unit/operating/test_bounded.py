"""How long leaving workers wait for their jobs (NS-8): case by case, and what holds whatever Slurm says."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.nodeset import Drain, DrainTimeoutAction
from penstock.api.scalars import Duration
from penstock.operator.nodeset.bounded import LONGEST_WARNING, Act, Bound, Order, Terms, bounded, prospect
from penstock.operator.nodeset.drains import MARK, SCALE_IN, is_our_drain
from penstock.slurm.rest.messages import NodeReport, Number

SINCE = 1_800_000_000
"""When Slurm was told to drain, by Slurm's clock."""


def policy(timeout: str | None, action: str) -> Drain:
    return Drain(timeout=Duration.parse(timeout) if timeout else None, on_timeout=DrainTimeoutAction(action))


def node(
    name: str = "w1", *, state: str = "ALLOCATED+DRAIN", extra: str = MARK, reason: str = SCALE_IN, since: int = SINCE
) -> NodeReport:
    """A node that drains for us and has jobs, unless said otherwise."""
    when = Number(set=True, number=since)
    return NodeReport(name=name, state=tuple(state.split("+")), reason=reason, extra=extra, reason_changed_at=when)


def after(seconds: int, of: Drain, *nodes: NodeReport) -> Bound:
    """What is decided so many seconds after the drain."""
    return bounded(Terms(of), nodes or [node()], SINCE + seconds)


def told(bound: Bound) -> list[str]:
    return [f"{one.act.value} {','.join(one.nodes)}" for one in bound.orders]


TEN_MINUTES, SIXTY_SECONDS = policy("10m", "Requeue"), policy("60s", "Cancel")
WARNED = f"{MARK} warned={SINCE},{SINCE + 541},requeue"


@pytest.mark.parametrize(
    ("of", "extra", "seconds", "expected", "again"),
    [
        (TEN_MINUTES, MARK, 0, [], 541.0),
        (TEN_MINUTES, MARK, 540, [], 1.0),
        (TEN_MINUTES, MARK, 541, ["warn w1"], None),
        (TEN_MINUTES, WARNED, 542, [], 60.0),
        (TEN_MINUTES, WARNED, 601, [], 1.0),
        (TEN_MINUTES, WARNED, 602, ["requeue w1"], None),
        (TEN_MINUTES, f"{MARK} ended={SINCE},requeue", 9999, [], None),
        (SIXTY_SECONDS, MARK, 30, [], 1.0),
        (SIXTY_SECONDS, MARK, 31, ["warn w1"], None),
        (SIXTY_SECONDS, f"{MARK} warned={SINCE},{SINCE + 31},cancel", 61, [], 1.0),
        (SIXTY_SECONDS, f"{MARK} warned={SINCE},{SINCE + 31},cancel", 62, ["cancel w1"], None),
        (policy("0s", "Cancel"), MARK, 1, ["warn w1"], None),
        (policy("0s", "Cancel"), f"{MARK} warned={SINCE},{SINCE + 1},cancel", 2, ["cancel w1"], None),
        (policy("1.5s", "Cancel"), MARK, 1, [], 1.0),
        (policy(None, "Cancel"), WARNED, 9999, [], None),
        (policy("10m", "Wait"), WARNED, 9999, [], None),
    ],
)
def test_jobs_are_warned_before_the_end_and_ended_at_it(
    of: Drain, extra: str, seconds: int, expected: list[str], again: float | None
) -> None:
    """The second more than the timeout is the one that Slurm's clock may have cut off."""
    decided = after(seconds, of, node(extra=extra))
    assert (told(decided), decided.again) == (expected, again)


def test_who_comes_late_warns_first_and_gives_the_jobs_their_time() -> None:
    """We were away, or the timeout was written after hours of draining."""
    decided = after(9000, TEN_MINUTES)
    assert told(decided) == ["warn w1"]
    assert decided.orders[0].end == SINCE + 9000 + 60 + 1
    warned = node(extra=decided.orders[0].note)
    assert told(after(9060, TEN_MINUTES, warned)) == []
    assert told(after(9061, TEN_MINUTES, warned)) == ["requeue w1"]


@pytest.mark.parametrize(
    "other",
    [
        node(reason="bad memory, Ann"),
        node(extra=""),
        node(extra="a person's note"),
        node(extra="", reason="slurm-operator: cordoned"),
        node(state="ALLOCATED"),
        node(state="ALLOCATED+DRAIN+UNDRAIN"),
        node(state="IDLE+DRAIN"),
        node(state="IDLE+DRAIN+COMPLETING"),
        node(state="DOWN+DRAIN"),
        node(state="HIBERNATED+DRAIN"),
        msgspec.structs.replace(node(), reason_changed_at=Number()),
    ],
    ids=str,
)
def test_nothing_is_done_to_a_node_that_is_not_ours_or_has_no_jobs(other: NodeReport) -> None:
    assert after(99999, SIXTY_SECONDS, other) == Bound()


def test_nothing_is_decided_without_slurms_time() -> None:
    assert bounded(Terms(SIXTY_SECONDS), [node()], None) == Bound()


@pytest.mark.parametrize("noted", [f"warned={SINCE},{SINCE + 541}", f"ended={SINCE}"])
@pytest.mark.parametrize("word", ["", ",requeue"])
def test_who_writes_cancel_for_requeue_has_the_jobs_warned_of_it_and_cancelled(noted: str, word: str) -> None:
    """Some jobs cannot be requeued, and go on running: they were told something else, or nothing yet (NS-8)."""
    harsher = policy("10m", "Cancel")
    [warning] = after(9000, harsher, node(extra=f"{MARK} {noted}{word}")).orders
    assert (warning.act, warning.end) == (Act.WARN, SINCE + 9000 + 60 + 1)
    assert warning.note == f"{MARK} warned={SINCE},{SINCE + 9000},cancel"
    [end] = after(9061, harsher, node(extra=warning.note)).orders
    assert (end.act, end.note) == (Act.CANCEL, f"{MARK} ended={SINCE},cancel")
    assert after(99999, harsher, node(extra=end.note)) == Bound()


@pytest.mark.parametrize("noted", [f"warned={SINCE},{SINCE + 541}", f"ended={SINCE}"])
def test_who_writes_requeue_for_cancel_need_not_say_again_what_was_said(noted: str) -> None:
    """They know that they end, and those that Slurm was told to end it ends."""
    decided = after(9000, TEN_MINUTES, node(extra=f"{MARK} {noted},cancel"))
    assert told(decided) == (["requeue w1"] if "warned" in noted else [])


def test_a_job_that_slurm_is_ending_is_not_called_one_that_runs() -> None:
    """Its epilog hangs, say: it is not warned, and not ended a second time."""
    completing = node(state="IDLE+COMPLETING+DRAIN")
    assert after(9000, SIXTY_SECONDS, completing) == Bound()
    assert prospect(Terms(SIXTY_SECONDS), completing).startswith("Slurm ends its last job (COMPLETING)")
    assert prospect(Terms(policy(None, "Wait")), completing).startswith("Slurm ends its last job (COMPLETING)")


def test_notes_of_another_drain_say_nothing() -> None:
    """Whoever was given back and drained once more is warned once more."""
    before = f"{MARK} ended={SINCE - 500},cancel"
    assert told(after(31, SIXTY_SECONDS, node(extra=before))) == ["warn w1"]


def test_nodes_of_one_drain_are_one_order() -> None:
    late = node("w9", since=SINCE + 5)
    decided = after(600, SIXTY_SECONDS, node("w1"), late, node("w2"), node("w3", state="MIXED+DRAIN"))
    assert told(decided) == ["warn w1,w2,w3", "warn w9"]


@pytest.mark.parametrize(
    ("of", "extra", "words"),
    [
        (policy(None, "Cancel"), MARK, "jobs still run on it"),
        (policy("5m", "Wait"), MARK, "jobs still run on it"),
        (policy("5m", "Cancel"), MARK, "jobs still run on it, which are cancelled when it has drained for 5m"),
        (TEN_MINUTES, WARNED, "which are requeued when it has drained for 10m; they have been warned"),
        (TEN_MINUTES, f"{MARK} ended={SINCE},requeue", "those that cannot be requeued are waited for"),
        (SIXTY_SECONDS, f"{MARK} ended={SINCE},cancel", "Slurm was told to cancel the jobs that run on it"),
        (SIXTY_SECONDS, "", "jobs still run on it, and are waited for: somebody else drained its node"),
    ],
)
def test_people_are_told_what_becomes_of_the_jobs(of: Drain, extra: str, words: str) -> None:
    assert words in prospect(Terms(of), node(extra=extra))


def test_jobs_of_a_person_s_drain_are_ended_only_with_the_whole_set() -> None:
    drained = [node(extra="")]
    assert bounded(Terms(SIXTY_SECONDS), drained, SINCE + 600).orders == ()
    assert [one.act for one in bounded(Terms(SIXTY_SECONDS, anyones=True), drained, SINCE + 600).orders] == [Act.WARN]


def test_a_node_that_seems_idle_is_bound_by_its_suspended_jobs() -> None:
    asleep = [node("w1", state="IDLE+DRAIN")]
    assert bounded(Terms(SIXTY_SECONDS), asleep, SINCE + 600).orders == ()
    decided = bounded(Terms(SIXTY_SECONDS, suspended=frozenset({"w1"})), asleep, SINCE + 600)
    assert [one.act for one in decided.orders] == [Act.WARN]


# What holds for every history: a node drains, is given back, is drained by somebody else, and now and then we look.


@dataclass
class History:
    """One node, the notes that stand in it, and what was done to its jobs, with the ages of its drain at that time."""

    policy: Drain
    now: int = SINCE
    report: NodeReport = field(default_factory=node)
    done: list[tuple[Act, int, int]] = field(default_factory=list)
    """What, in which drain (by its time), and when."""

    def look(self, *, noted: bool) -> None:
        """Do what is decided; sometimes we die before the note."""
        for order in bounded(Terms(self.policy), [self.report], self.now).orders:
            assert order.nodes == (self.report.name,)
            assert is_our_drain(self.report)
            self.done.append((order.act, self.report.reason_changed_at.number, self.now))
            if noted:
                self.report = msgspec.structs.replace(self.report, extra=order.note)

    def drain(self, *, ours: bool) -> None:
        """Drain it, or have a person do so."""
        words = {"reason": SCALE_IN, "extra": MARK} if ours else {"reason": "bad memory", "extra": self.report.extra}
        since = Number(set=True, number=self.now)
        self.report = msgspec.structs.replace(
            self.report, state=("ALLOCATED", "DRAIN"), reason_changed_at=since, **words
        )

    def give_back(self) -> None:
        """Let it work again."""
        self.report = msgspec.structs.replace(self.report, state=("ALLOCATED",), reason="", extra="")


steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(0, 700)),
        st.tuples(st.sampled_from(["look", "look", "look", "drain", "person", "give back"]), st.just(0)),
    ),
    max_size=40,
)
policies = st.builds(
    policy, st.sampled_from([None, "0s", "1s", "90s", "2m", "10m"]), st.sampled_from(["Wait", "Requeue", "Cancel"])
)


def lived(of: Drain, given_steps: list[tuple[str, int]], *, noted: bool) -> History:
    history = History(of)
    for step, seconds in given_steps:
        history.now += seconds
        if step == "look":
            history.look(noted=noted)
        elif step in {"drain", "person"}:
            history.drain(ours=step == "drain")
        elif step == "give back":
            history.give_back()
    return history


@given(policies, steps)
@settings(max_examples=300, deadline=None)
def test_a_drain_warns_once_and_ends_its_jobs_once_and_never_before_its_time(
    of: Drain, given_steps: list[tuple[str, int]]
) -> None:
    history = lived(of, given_steps, noted=True)
    assert len({(act, since) for act, since, _ in history.done}) == len(history.done), "nothing twice for one drain"
    if of.timeout is None or of.on_timeout is DrainTimeoutAction.WAIT:
        assert history.done == []
        return
    timeout, ahead = of.timeout.seconds, min(LONGEST_WARNING, of.timeout.seconds / 2)
    warned = {since: when for act, since, when in history.done if act is Act.WARN}
    for act, since, when in history.done:
        if act is Act.WARN:
            assert when - since - 1 >= timeout - ahead
        else:
            assert act.value == of.on_timeout.value.lower()
            assert when - since - 1 >= timeout
            assert when - warned[since] - 1 >= ahead


@given(policies, steps)
@settings(max_examples=100, deadline=None)
def test_without_a_warning_on_record_nobody_is_ended(of: Drain, given_steps: list[tuple[str, int]]) -> None:
    """We die each time before the note: jobs are warned again and again, and live."""
    assert {act for act, _, _ in lived(of, given_steps, noted=False).done} <= {Act.WARN}


@given(policies, st.integers(0, 2000))
def test_whoever_looks_when_told_to_finds_something_to_do(of: Drain, seconds: int) -> None:
    decided = after(seconds, of)
    if decided.again is not None:
        assert after(seconds + int(decided.again) - 1, of).orders == ()
        assert after(seconds + int(decided.again), of).orders


def test_an_order_says_why() -> None:
    assert Order(Act.WARN, ("w1",), 0, "").why == "drain.timeout is nearly over"
    assert Order(Act.CANCEL, ("w1",), 0, "").why == "drain.timeout is over"
