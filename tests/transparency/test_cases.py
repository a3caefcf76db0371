"""People notice nothing: whatever they do gives the same results with a shared root as without the plugin (TR-1).

Each case is a script that alice runs on the login node, as people do; what it says, how it ends and all files that it
leaves behind are compared between three clusters of the same Slurm (sides.py). What must differ is in docs/walls.md.
"""

from dataclasses import asdict

import pytest

from .conftest import CASES, Runs
from .sides import ADMIN, PLAIN, USER


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_same_with_the_plugin_and_without(runs: Runs, case: str) -> None:
    """Slurm is real, of both releases."""
    if reason := runs.missing(case):
        pytest.skip(reason)
    results = runs.of(case)
    assert asdict(results[ADMIN]) == asdict(results[PLAIN]), "a plugin that has nothing to do does something"
    assert asdict(results[USER]) == asdict(results[PLAIN])
