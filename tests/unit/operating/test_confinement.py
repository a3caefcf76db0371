"""Which workers keep Slurm from using cgroups. How they go: `tests/simulation/test_confinement.py`."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.rendering.builders import node_set

from penstock.api.nodeset import NodeSet
from penstock.operator.confinement import all_free, confined_revisions, has_worker_of
from penstock.operator.nodeset.revision import HASH, revision
from penstock.operator.resources import PodStatus, Revision

from .test_registration import made_from
from .workers import pod

FREE = node_set("w")
CONFINED = node_set("w", slurmd={"securityContext": {"privileged": False}})
BOTH = [made_from(FREE), made_from(CONFINED)]
UNREADABLE = msgspec.structs.replace(made_from(FREE), data=None)


@pytest.mark.parametrize(
    ("of", "known", "free"),
    [
        pytest.param(FREE, BOTH, True, id="it may"),
        pytest.param(CONFINED, BOTH, False, id="it may not"),
        pytest.param(FREE, BOTH[1:], False, id="its revision is gone"),
        pytest.param(FREE, [UNREADABLE], False, id="its revision cannot be read"),
        pytest.param(FREE, [*BOTH, UNREADABLE], False, id="two revisions have its hash"),
    ],
)
def test_a_worker_is_free_only_if_that_is_known(of: NodeSet, known: list[Revision], free: bool) -> None:
    one = pod("w-0", labels={HASH: revision(of)})
    assert all_free([one], known) is free
    assert all_free([msgspec.structs.replace(one, status=PodStatus(phase="Failed"))], known), "it has ended"


def test_where_cgroups_are_in_use_only_what_is_known_turns_them_off() -> None:
    """Else a watch that is behind would take them from everybody."""
    without = confined_revisions([*BOTH, UNREADABLE])
    assert without == BOTH[1:]
    assert has_worker_of([pod("w-0", labels={HASH: revision(CONFINED)})], without)
    assert not has_worker_of([pod("w-0", labels={HASH: "strange"}), pod("w-1")], without)
