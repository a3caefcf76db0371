"""The thirty attacks, tried on real Slurm: nothing is won (TR-3, GW-5, GW-8)."""

import pytest

from tests.spank.walled import Walled

from .rows import EVERY


@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_won(node: Walled, name: str) -> None:
    """An attack that wins says what."""
    assert EVERY[name](node) == []
