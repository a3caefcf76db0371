"""The key decides whether something is built: what could change an image changes it, nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.images.build import content_key
from penstock.images.recipe import book

from .builders import recipe_directory


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tool.sh").write_text("one")
    texts = {"low": '[files]\n"bin/tool" = { source = "tool.sh" }', "high": 'builds_on = "low"', "other": ""}
    return recipe_directory(tmp_path, **texts)


def keys(place: Path, suite: str = "forky", **pins: str) -> dict[str, str]:
    """Every recipe's key."""
    return {role: content_key(recipe, suite, pins) for role, recipe in book(place).recipes.items()}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """Whose key is another one."""
    return {role for role in before if before[role] != after[role]}


def test_the_same_recipes_give_the_same_keys(place: Path) -> None:
    assert keys(place) == keys(place)
    assert len(set(keys(place).values())) == 3


def test_a_changed_recipe_changes_what_builds_on_it(place: Path) -> None:
    before = keys(place)
    with (place / "low.toml").open("a") as text:
        text.write("# a word more\n")
    assert changed(before, keys(place)) == {"low", "high"}


def test_a_changed_file_of_a_recipe_counts_too(place: Path) -> None:
    before = keys(place)
    (place / "tool.sh").write_text("two")
    assert changed(before, keys(place)) == {"low", "high"}


def test_a_plugins_sources_and_its_compiler_count(place: Path) -> None:
    """But neither its tests nor what somebody writes about it."""
    (place / "c/tests").mkdir(parents=True)
    (place / "c/plugin.c").write_text("int x;")
    plugin = '[plugins]\n"x.so" = { sources = "c", compiler = "other" }'
    recipe_directory(place, wall=plugin, top='builds_on = "wall"')
    before = keys(place)
    (place / "c/README.md").write_text("words")
    (place / "c/tests/plugin.c").write_text("int main;")
    assert changed(before, keys(place)) == set()
    (place / "c/plugin.h").write_text("extern int x;")
    assert changed(before, keys(place)) == {"wall", "top"}
    before = keys(place)
    with (place / "other.toml").open("a") as text:
        text.write("# a word more\n")
    assert changed(before, keys(place)) == {"other", "wall", "top"}


def test_what_has_a_programs_main_counts_as_well(place: Path) -> None:
    (place / "c/main").mkdir(parents=True)
    (place / "c/plugin.c").write_text("int x;")
    (place / "c/main/main.c").write_text("int main;")
    recipe_directory(place, wall='[programs]\n"bin/x" = { sources = "c", main = "main", compiler = "other" }')
    before = keys(place)
    (place / "c/main/main.c").write_text("int main(void);")
    assert changed(before, keys(place)) == {"wall"}


def test_suite_and_pinned_versions_count(place: Path) -> None:
    before = keys(place)
    assert changed(before, keys(place, suite="trixie")) == set(before)
    assert changed(before, keys(place, bash="5.3-1")) == set(before)
    assert keys(place, a="1", b="2") == keys(place, b="2", a="1")
