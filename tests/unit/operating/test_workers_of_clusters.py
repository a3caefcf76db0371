"""Whose workers read a cluster's configuration: those that say so, that lost the label, or that are of its sets."""

from __future__ import annotations

import pytest
from tests.unit.rendering.builders import cluster, node_set

from penstock.api.objects import Labels
from penstock.operator.workers import of
from penstock.render.labels import CLUSTER, INSTANCE

from .workers import pod


@pytest.mark.parametrize(
    ("labels", "theirs"),
    [
        ({CLUSTER: "slurm", INSTANCE: "w"}, True),
        ({CLUSTER: "slurm", INSTANCE: "gone"}, True),
        ({CLUSTER: "other", INSTANCE: "gone"}, False),
        ({CLUSTER: "other", INSTANCE: "w"}, True),
        ({INSTANCE: "gone"}, True),
    ],
)
def test_whose_a_worker_is(labels: Labels, theirs: bool) -> None:
    one = pod("w-0", labels=labels)
    found = of(cluster(node_set("w")), [one])
    assert found == [one] if theirs else not found
