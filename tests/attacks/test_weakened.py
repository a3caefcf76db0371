"""The attacks are worth something: where the plugin has a hole, they win."""

from pathlib import Path

import pytest

import spank
from tests.spank.walled import Walled

from . import weakened
from .conftest import SUITE
from .rows import EVERY
from .weakenings import WEAKENINGS

CASES = [(name, attack) for name, weakening in WEAKENINGS.items() for attack in weakening.wins]


@pytest.fixture(scope="session")
def plugins() -> dict[str, Path]:
    """Compile them, once for all."""
    return weakened.build(SUITE)


@pytest.mark.parametrize(("weakening", "attack"), CASES, ids=lambda case: case.replace(" ", "-"))
def test_a_hole_is_found(weak_node: Walled, plugins: dict[str, Path], weakening: str, attack: str) -> None:
    """The very attack that wins nothing otherwise."""
    with weakened.loaded(weak_node, plugins[weakening]):
        assert EVERY[attack](weak_node) != []


@pytest.mark.parametrize("name", WEAKENINGS)
def test_every_hole_fits_the_sources(name: str) -> None:
    """Text that has moved is told here."""
    assert weakened.edited(WEAKENINGS[name].edits, spank.SPANK)
