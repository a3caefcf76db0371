"""Workers have policies wherever the plugin is loaded: their NodeSet's, or those that are made for all (TR-2, GW-5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.render import controller, walls, worker
from penstock.render.controller import configuration
from penstock.render.inventory import Cluster
from penstock.render.seat import seat
from penstock.slurm import conf
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


def test_slurmd_proves_walls_where_they_are_up() -> None:
    """A node whose walls do not hold drains itself (GW-5)."""
    for given in (cluster(node_set(walls=OWN)), cluster(node_set(), sharedRoot={})):
        said = conf.settings(configuration(given)["slurm.conf"])
        assert said["healthcheckprogram"] == walls.HEALTH_PROGRAM
        assert said["healthcheckinterval"] == "300"
        assert said["healthchecknodestate"] == "ANY,CYCLE"
    assert "HealthCheck" not in configuration(cluster(node_set()))["slurm.conf"]


def test_a_health_check_of_a_persons_own_stands_with_their_settings() -> None:
    """Slurm runs one program only, and what we say of ours must not become true of theirs."""
    given = cluster(node_set(walls=OWN), extraConf="healthcheckprogram=/opt/nhc\n")
    assert [line for line in configuration(given)["slurm.conf"].splitlines() if "health" in line.lower()] == [
        "healthcheckprogram=/opt/nhc"
    ]
    seconds = cluster(node_set(walls=OWN), extraConf="HealthCheckInterval=60\n")
    said = conf.settings(configuration(seconds)["slurm.conf"])
    assert (said["healthcheckprogram"], said["healthcheckinterval"]) == (walls.HEALTH_PROGRAM, "60")


def test_a_set_without_policies_of_its_own_beside_one_that_has_them_is_as_it_was() -> None:
    """The plugin is everybody's, and refuses every step that nobody has decided about."""
    given = cluster(node_set("a"), node_set("b", walls=OWN))
    assert volume(given)["configMap"]["name"] == "slurm-walls"
    assert read(walls.policies(given)["default"]).user_class == "admin"
    assert "slurm-walls" in {one["metadata"]["name"] for one in controller.manifests(given)}


def test_without_walls_workers_would_have_policies_at_once() -> None:
    """Whoever has the plugin loaded later must not find that nobody has decided."""
    given = cluster(node_set())
    assert "plugstack.conf" not in configuration(given)
    assert volume(given)["configMap"].items() >= {("name", "slurm-walls"), ("optional", True)}
    assert "slurm-walls" in {one["metadata"]["name"] for one in controller.manifests(given)}
    assert read(walls.policies(given)["default"]).user_class == "admin"


def test_workers_from_before_the_shared_root_are_left_alone() -> None:
    """They do not have it: the plugin would refuse all their steps."""
    given = replace(cluster(node_set(), sharedRoot={}), rootless_workers=True)
    assert "plugstack.conf" not in configuration(given)
    assert read(walls.policies(given)["default"]).user_class == "user"
    beside_walls = replace(cluster(node_set("a"), node_set("b", walls=OWN), sharedRoot={}), rootless_workers=True)
    assert configuration(beside_walls)["plugstack.conf"] == "required penstock.so\n"
    assert read(walls.policies(beside_walls)["default"]).user_class == "admin"


def test_node_local_paths_are_kept() -> None:
    """TR-3: each node's own, over the shared root."""
    made = walls.policies(cluster(node_set(), sharedRoot={"nodeLocal": ["/scratch", "/local/disk"]}))
    assert read(made["default"]).keeps == ("/scratch", "/local/disk")
