"""How large the ReplicaSets of a Deployment are while it rolls."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.engine.workloads.bounds import fenceposts, share
from penstock.engine.workloads.rollout import Crew, Wish, first_size, sizes


def crew(name: str, size: int, available: int | None = None) -> Crew:
    """Pods of a template; all serve unless said otherwise."""
    return Crew(name=name, size=size, available=size if available is None else available, pods=size)


@pytest.mark.parametrize(
    ("asked", "whole", "up", "expected"),
    [("25%", 3, True, 1), ("25%", 3, False, 0), ("25%", 4, False, 1), (2, 9, True, 2), ("0%", 9, True, 0),
     ("100%", 3, False, 3)],
)  # fmt: skip
def test_shares_are_rounded_as_kubernetes_does(asked: int | str, whole: int, up: bool, expected: int) -> None:
    assert share(asked, whole, up=up) == expected


def test_a_rollout_that_may_do_nothing_may_have_one_less() -> None:
    assert fenceposts(0, "25%", 3) == (0, 1)


@pytest.mark.parametrize(
    ("wish", "new", "old", "expected"),
    [
        (Wish(replicas=3), crew("b", 1, 0), [crew("a", 3)], {}),
        (Wish(replicas=3), crew("b", 1), [crew("a", 3)], {"a": 2}),
        (Wish(replicas=3), crew("b", 3), [], {}),
        (Wish(replicas=5), crew("b", 3), [], {"b": 5}),
        (Wish(replicas=1), crew("b", 3), [], {"b": 1}),
        (Wish(replicas=3), crew("b", 1, 0), [crew("a", 3, 1)], {}),
        (Wish(replicas=4), crew("b", 1, 0), [crew("a", 4, 1)], {"a": 3}),
        (Wish(replicas=4, max_surge=0, max_unavailable=2), crew("b", 0), [crew("a", 4)], {"a": 2}),
        (Wish(replicas=2, recreate=True), None, [crew("a", 2)], {"a": 0}),
        (Wish(replicas=2, recreate=True), crew("b", 0), [Crew(name="a", size=0, available=0, pods=1)], {}),
        (Wish(replicas=2, recreate=True), crew("b", 0), [crew("a", 0)], {"b": 2}),
        (Wish(replicas=5, paused=True), crew("b", 1), [crew("a", 2)], {"b": 3}),
        (Wish(replicas=2, paused=True), crew("b", 1), [crew("a", 2)], {"a": 1}),
    ],
)
def test_the_next_step(wish: Wish, new: Crew | None, old: list[Crew], expected: dict[str, int]) -> None:
    assert sizes(wish, new, old) == expected


amounts = st.one_of(st.integers(0, 4), st.integers(0, 100).map(lambda n: f"{n}%"))


@given(
    replicas=st.integers(0, 8), surge=amounts, unavailable=amounts, new=st.tuples(st.integers(0, 8), st.integers(0, 8)),
    old=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=3),
)  # fmt: skip
def test_the_bounds_are_kept(
    replicas: int, surge: int | str, unavailable: int | str, new: tuple[int, int], old: list[tuple[int, int]]
) -> None:
    """No step asks for more than wanted plus surge, or lets go what serves below wanted minus unavailable."""
    wish = Wish(replicas=replicas, max_surge=surge, max_unavailable=unavailable)
    more, fewer = wish.bounds
    newest, others = crew("new", *new), [crew(f"old-{n}", *one) for n, one in enumerate(old)]
    before = newest.size + sum(one.size for one in others)
    step = sizes(wish, newest, others)
    after = {one.name: step.get(one.name, one.size) for one in [newest, *others]}
    assert all(size >= 0 for size in after.values())
    assert sum(after.values()) <= max(replicas + more, before)
    serving = {one.name: min(one.size, one.available) for one in [newest, *others]}
    left = sum(min(after[name], count) for name, count in serving.items())
    assume(newest.size <= replicas)
    assert left >= min(replicas - fewer, sum(serving.values()))


@given(
    replicas=st.integers(0, 8), surge=amounts, unavailable=amounts, recreate=st.booleans(),
    old=st.lists(st.integers(0, 8), max_size=3),
)  # fmt: skip
def test_every_rollout_ends(
    replicas: int, surge: int | str, unavailable: int | str, recreate: bool, old: list[int]
) -> None:
    wish = Wish(replicas=replicas, max_surge=surge, max_unavailable=unavailable, recreate=recreate)
    there = {f"old-{n}": size for n, size in enumerate(old)}
    crews = [crew(name, size) for name, size in there.items()]
    there["new"] = 0 if recreate else first_size(wish, None, crews)
    for _ in range(60):
        step = sizes(
            wish, crew("new", there["new"]), [crew(name, size) for name, size in there.items() if name != "new"]
        )
        if not step:
            break
        there |= step
    assert there == {**dict.fromkeys(there, 0), "new": replicas}
