"""Workers have policies wherever the plugin is loaded: their NodeSet's, or those that are made for all (TR-2, GW-5)."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.render import controller, walls, worker
from penstock.render.controller import configuration
from penstock.render.inventory import Cluster
from penstock.render.seat import seat
from penstock.walls.reading import read, read_ranges

from .builders import cluster, node_set

OWN = {"configMap": {"name": "who-gets-what"}}


def volume(given: Cluster) -> Any:
    """What a worker has as policies."""
    spec = worker.pod(given, given.node_sets[0], seat(given.node_sets[0], 0))["spec"]
    assert [one for one in spec["containers"][0]["volumeMounts"] if one["name"] == "walls"] == [
        {"name": "walls", "mountPath": "/etc/penstock/walls", "readOnly": True}
    ]
    return next(one for one in spec["volumes"] if one["name"] == "walls")


def test_a_shared_root_is_everybodys() -> None:
    made = walls.policies(cluster(node_set(), sharedRoot={"mountPath": "/jail"}))
    assert (read(made["default"]).user_class, read(made["default"]).root) == ("user", "/jail")
    assert read_ranges(made["ranges"]) == ()
    assert volume(cluster(node_set(), sharedRoot={}))["configMap"]["name"] == "slurm-walls"


@pytest.mark.parametrize(
    "source", [OWN, {"persistentVolumeClaim": {"claimName": "c"}}, {"hostPath": {"path": "/var/lib/walls"}}]
)
def test_whoever_names_policies_has_them(source: dict[str, Any]) -> None:
    given = cluster(node_set(walls=source))
    [kind] = source
    assert source[kind].items() <= volume(given)[kind].items()
    assert configuration(given)["plugstack.conf"] == "required penstock.so\n"
    assert "slurm-walls" not in {one["metadata"]["name"] for one in controller.manifests(given)}


def test_a_set_without_policies_of_its_own_beside_one_that_has_them_is_as_it_was() -> None:
    """The plugin is everybody's, and refuses every step that nobody has decided about."""
    given = cluster(node_set("a"), node_set("b", walls=OWN))
    assert volume(given)["configMap"]["name"] == "slurm-walls"
    assert read(walls.policies(given)["default"]).user_class == "admin"
    assert "slurm-walls" in {one["metadata"]["name"] for one in controller.manifests(given)}


def test_without_walls_nobody_has_policies() -> None:
    given = cluster(node_set())
    spec = worker.pod(given, given.node_sets[0], seat(given.node_sets[0], 0))["spec"]
    assert "walls" not in str(spec)
