"""What to do about a ring of keys that is not yet as wanted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from penstock.operator.keyring import Seen, Wait, Write, decide, told
from penstock.slurm.keyring import Key, Ring, Written

NOW = datetime(2026, 11, 16, 8, tzinfo=UTC)
OLD, NEW, NEWER = Key(b"the-old-key-of-the-cluster"), Key(b"the-new-key-of-the-cluster"), Key(b"the-newest-key-of-all")
FIRST, SECOND = Ring(OLD, frozenset({NEW})), Ring(NEW, frozenset({OLD}))


def seen(ring: Ring | None, **others: Any) -> Seen:
    given = Seen(written=Written(ring, NOW) if ring else None, wanted=NEW, spread=True)
    return replace(given, **others)


@pytest.mark.parametrize(
    ("ring", "then"), [(None, Ring(NEW)), (Ring(OLD), FIRST), (FIRST, SECOND), (SECOND, Ring(NEW))]
)
def test_when_all_have_read_a_ring_the_next_is_written(ring: Ring | None, then: Ring) -> None:
    decided = decide(seen(ring))
    assert isinstance(decided, Write)
    assert decided.ring == then


@pytest.mark.parametrize("ring", [FIRST, SECOND])
def test_no_step_is_taken_while_somebody_has_not_read_the_one_before(ring: Ring) -> None:
    assert decide(seen(ring, unread="not yet read by slurmd of w2")) == Wait("not yet read by slurmd of w2")
    assert decide(seen(ring, unread="u", away="waits for w2, not ready")) == Wait("waits for w2, not ready")


@pytest.mark.parametrize("ring", [FIRST, SECOND])
def test_who_was_away_is_told_again_once_all_are_there(ring: Ring) -> None:
    decided = decide(seen(ring, missed="w2 was away"))
    assert decided == Write(ring, "the same ring once more, for w2 was away")
    assert isinstance(decide(seen(ring, missed="w2 was away", away="waits for w1")), Wait)


def test_a_rotation_begins_at_once() -> None:
    """A second key hurts nobody, whoever is away."""
    decided = decide(seen(Ring(OLD), away="a", missed="m", unread="u"))
    assert decided == Write(FIRST, told(FIRST, NEW))


def test_slurmdbd_alone_takes_the_key_at_once() -> None:
    """Its slurmctlds hold slurm.key, and change in one step too."""
    assert decide(seen(Ring(OLD), spread=False)) == Write(Ring(NEW), "a ring of the key alone")


class Cluster(RuleBasedStateMachine):
    """Daemons that read the ring when it pleases them, a person who wants now this key and now that, and us."""

    def __init__(self) -> None:
        super().__init__()
        self.ring, self.wanted = Ring(OLD), OLD
        self.held = [Ring(OLD)] * 4

    @rule(key=st.sampled_from([OLD, NEW, NEWER]))
    def wish(self, key: Key) -> None:
        """Somebody writes another key into the Secret."""
        self.wanted = key

    @rule(number=st.integers(0, 3))
    def read(self, number: int) -> None:
        """A daemon starts anew."""
        self.held[number] = self.ring

    @rule()
    def read_all(self) -> None:
        """All are reconfigured."""
        self.held = [self.ring] * 4

    @rule()
    def step(self) -> None:
        """The operator looks at the ring."""
        if self.ring == Ring(self.wanted):
            return
        unread = "" if set(self.held) == {self.ring} else "somebody"
        decided = decide(Seen(written=Written(self.ring, NOW), wanted=self.wanted, spread=True, unread=unread))
        if isinstance(decided, Write):
            self.ring = decided.ring

    @invariant()
    def all_understand_each_other(self) -> None:
        """And whoever starts just now, with the newest ring."""
        for one in [*self.held, self.ring]:
            for other in [*self.held, self.ring]:
                assert one.understands(other)

    def teardown(self) -> None:
        """At the latest with four more steps the wanted key is the only one."""
        for _ in range(4):
            self.read_all()
            self.step()
            self.all_understand_each_other()
        assert self.ring == Ring(self.wanted)


TestEveryWay = Cluster.TestCase
TestEveryWay.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
