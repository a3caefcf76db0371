"""What is found out about an object is found out once, and never told of another."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.operator.once import once


@dataclass
class Thing:
    """Equal to others of its name, and not the same."""

    name: str


def test_an_object_is_looked_at_once_and_its_equal_anew() -> None:
    """Another version of an object may be equal in all that is compared."""
    asked = list[Thing]()

    @once
    def name(thing: Thing) -> str:
        asked.append(thing)
        return thing.name

    one, other = Thing("a"), Thing("a")
    assert [name(one), name(other), name(one)] == ["a", "a", "a"]
    assert [id(thing) for thing in asked] == [id(one), id(other)]


def test_what_is_told_is_of_the_object_that_is_asked_about_and_of_nobody_who_had_its_place_in_memory() -> None:
    @once
    def name(thing: Thing) -> str:
        return thing.name

    assert [name(Thing(str(number))) for number in range(5000)] == [str(number) for number in range(5000)]


def test_those_that_nobody_asks_about_are_forgotten() -> None:
    """An operator runs for months, and every edit makes a new object."""
    asked = list[str]()

    @once
    def name(thing: Thing) -> str:
        asked.append(thing.name)
        return thing.name

    old, new = Thing("old"), [Thing(str(number)) for number in range(5000)]
    for thing in (old, *new, old):
        name(thing)
    assert asked.count("old") == 2
