"""Recipes say what they mean, and a change of one is a change of all that builds on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.images.errors import BadRecipe
from penstock.images.recipe import Book, book
from penstock.render.contract import PENSTOCK

from .builders import recipe_directory

BOOK = book()


def test_every_image_that_pods_ask_for_has_a_recipe() -> None:
    """CL-4: what `render` names by default can be built."""
    asked = {image.rpartition(":")[0].rpartition("/")[2] for image in PENSTOCK.images.values()}
    assert asked <= set(BOOK.roles)


def test_tools_are_no_images_of_pods() -> None:
    """A bare build makes what pods run; a compiler comes when something has to be compiled."""
    assert {"toolchain", "fuzzer"} <= set(BOOK.recipes)
    assert {"toolchain", "fuzzer"}.isdisjoint(BOOK.roles)
    assert [recipe.role for recipe in BOOK.recipe("worker").tools.values()] == ["toolchain"]


def test_users_have_the_numbers_that_pods_run_as() -> None:
    users = BOOK.recipe("worker").users
    assert (users["slurm"], users["slurmrestd"]) == (PENSTOCK.slurm_uid, PENSTOCK.restd_uid)


def test_the_default_suite_is_one_of_the_suites() -> None:
    assert BOOK.default_suite in BOOK.suites


def test_a_recipe_stands_behind_what_it_builds_on() -> None:
    assert [recipe.role for recipe in BOOK.recipe("login").chain] == ["base", "slurm", "worker", "login"]


def test_what_a_base_removes_stays_away_from_all_that_builds_on_it() -> None:
    assert set(BOOK.recipe("base").remove) < set(BOOK.recipe("login").remove)


@pytest.mark.parametrize("role", BOOK.recipes)
def test_a_recipe_names_no_path_outside_of_the_new_root(role: str) -> None:
    says = BOOK.recipe(role).says
    tables = (says.moves, says.copies, says.texts, says.files, says.links, says.directories)
    paths = [*says.remove, *(path for table in tables for path in table)]
    assert [path for path in paths if path.startswith("/") or ".." in Path(path).parts] == []


@pytest.mark.parametrize(
    ("recipes", "words"),
    [
        ({"one": "pakages = {}"}, "pakages"),
        ({"one": 'packages = "bash"'}, "packages"),
        ({"one": 'builds_on = "two"'}, "'one' builds on 'two', which is not there"),
        ({"one": 'builds_on = "two"', "two": 'builds_on = "one"'}, "builds on it"),
        ({"one": "= broken"}, "one.toml cannot be read"),
        ({"one": '[files]\nx = { source = "nowhere.sh" }'}, "names nowhere.sh"),
        ({"one": '[plugins]\nx = { sources = "nowhere", compiler = "two" }', "two": ""}, "there is no C in"),
        ({"one": '[plugins]\nx = { sources = ".", compiler = "two" }'}, "'one' builds on 'two', which is not there"),
    ],
)
def test_a_slip_of_the_pen_is_told_with_its_place(recipes: dict[str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(BadRecipe, match=re.escape(words)):
        book(recipe_directory(tmp_path, **recipes))


@pytest.mark.parametrize(("ask", "words"), [("recipe", "no image 'x', only"), ("suite", "no suite 'x', only forky")])
def test_asking_for_what_is_not_there_names_what_is(ask: str, words: str) -> None:
    with pytest.raises(BadRecipe, match=words):
        getattr(BOOK, ask)("x")


def test_a_book_can_be_read_from_anywhere(tmp_path: Path) -> None:
    found = book(recipe_directory(tmp_path, low="", high='builds_on = "low"'))
    assert isinstance(found, Book)
    assert found.recipe("high").base == found.recipe("low")
