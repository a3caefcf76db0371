"""Who holds a ring of auth/slurm keys, who the bare key, and what the ring's Secret looks like."""

from __future__ import annotations

import base64

import pytest

from penstock.api.kinds import Kind
from penstock.api.objects import Json, SecretKeySelector
from penstock.render.inventory import Inventory, References
from penstock.render.keyring import holders, manifest, ring_of, rings
from penstock.render.names import Domain

from .builders import REF, accounting, controller, everything, login_set, node_set, pods_of, rendered, slinky_everything

SLINKY = "ghcr.io/slinkyproject/{}:26.05-ubuntu26.04".format
OTHER_KEY = {"name": "keys", "key": "other"}
KEY = SecretKeySelector(name="keys", key="slurm.key")


def held(*kinds: Kind) -> dict[str, set[str]]:
    """Which of the two files each pod gets, by its object."""
    return {name: found for name, spec in pods_of(rendered(*kinds).manifests) if (found := _paths(spec))}


def _paths(spec: Json) -> set[str]:
    sources = [source for volume in spec["volumes"] for source in volume.get("projected", {}).get("sources", ())]
    items = [item for source in sources for item in source.get("secret", {}).get("items", ())]
    return {item["path"] for item in items} & {"slurm.key", "slurm.jwks"}


def inventory(*kinds: Kind) -> Inventory:
    return Inventory.of(kinds, references=References(), domain=Domain())


def names(*kinds: Kind) -> list[str]:
    return [each["metadata"]["name"] for each in rings(inventory(*kinds))]


def test_daemons_of_our_images_hold_the_ring_and_slurmrestd_nothing() -> None:
    assert held(*everything()) == {
        "StatefulSet slurm-accounting": {"slurm.jwks"},
        "StatefulSet slurm-controller": {"slurm.jwks"},
        "Pod compute-0": {"slurm.jwks"},
        "Pod compute-1": {"slurm.jwks"},
        "Deployment login": {"slurm.jwks"},
    }


def test_slinkys_images_hold_the_key() -> None:
    found = held(*slinky_everything())
    assert set().union(*found.values()) == {"slurm.key"}
    assert names(*slinky_everything()) == []


def test_beside_a_ring_slinkys_images_hold_the_key() -> None:
    """They understand a ring that signs with it."""
    found = held(*everything(slurmd={"image": SLINKY("slurmd")}))
    assert found["Pod compute-0"] == {"slurm.key"}
    assert found["StatefulSet slurm-controller"] == {"slurm.jwks"}


@pytest.mark.parametrize(
    "spec",
    [
        {"slurmctld": {"image": SLINKY("slurmctld")}},
        {"external": True, "externalConfig": {"host": "h", "port": 6817}},
    ],
    ids=["Slinky's", "elsewhere"],
)
def test_where_slurmctld_takes_no_ring_nobody_holds_one(spec: Json) -> None:
    """Nobody would tell them to read it again."""
    found = held(controller(**spec), node_set(replicas=1), login_set())
    assert found["Pod compute-0"] == found["Deployment login"] == {"slurm.key"}


def test_a_ring_is_shown_once_and_bare() -> None:
    shown = rendered(*everything())
    found = [each for each in shown.manifests if each["metadata"].get("name") == "keys-ring"]
    assert found == [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys-ring", "namespace": "hpc"}, "type": "Opaque"}
    ]
    assert [note for note in shown.notes if "keys-ring" in note] == [
        'Secret "keys-ring": the ring of slurmKeyRef\'s key is made in the cluster.'
    ]


def test_each_key_of_a_secret_has_a_ring() -> None:
    found = names(controller(), controller("second", slurmKeyRef=OTHER_KEY), accounting(slurmKeyRef=OTHER_KEY))
    assert found == ["keys-ring-d9298a10", "keys-ring"]
    optional = ring_of(SecretKeySelector(name="keys", key="other", optional=True))
    assert (optional.name, optional.key, optional.optional) == ("keys-ring-d9298a10", "slurm.jwks", True)


def test_a_ring_belongs_to_all_that_hold_it() -> None:
    """Not to the key's Secret, which people may delete and make anew: the ring still knows what everybody holds."""
    one = controller(accountingRef=REF, metadata={"uid": "1"})
    books = accounting(metadata={"uid": "2"}, slurmKeyRef={"name": "keys", "key": "slurm.key", "optional": False})
    stranger = controller("stranger", slurmKeyRef=OTHER_KEY, metadata={"uid": "3"})
    held_by = holders(inventory(one, books, stranger, node_set(controllerRef={"name": "assumed"})), "hpc", KEY)
    assert held_by == [one, books]
    made = manifest("hpc", KEY, held_by, "a ring")
    assert base64.b64decode(made["data"]["slurm.jwks"]) == b"a ring"
    owners = [(each["kind"], each["uid"], each.get("controller")) for each in made["metadata"]["ownerReferences"]]
    assert owners == [("Controller", "1", None), ("Accounting", "2", None)]
