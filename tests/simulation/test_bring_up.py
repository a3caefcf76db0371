"""A cluster comes up from its manifests, and each kind goes with what it made, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from penstock.api.nodeset import NodeSet
from penstock.api.validation import decode
from penstock.operator.nodeset.revision import revision
from penstock.operator.resources import CUSTOMS

from .loop import simulated
from .manifests import NODE_SET, TOKEN, sample
from .sight import Sight
from .world import cluster


def _template() -> str:
    """The hash of the template of the sample's workers."""
    (made,) = (decode(one) for one in sample() if one["kind"] == "NodeSet")
    assert isinstance(made, NodeSet)
    return revision(made)


OWNED = {
    ("Accounting", "slurm"): {
        ("Secret", "slurm-accounting"), ("Service", "slurm-accounting"), ("StatefulSet", "slurm-accounting"),
        ("Secret", "slurm-auth-slurm-ring"),
    },
    ("Controller", "slurm"): {
        ("ConfigMap", "slurm-config"), ("ConfigMap", "slurm-walls"), ("Service", "slurm-controller"),
        ("Service", "slurm-controller-internal"), ("StatefulSet", "slurm-controller"),
        ("Secret", "slurm-auth-slurm-ring"),
    },
    ("LoginSet", "slurm-login"): {
        ("ConfigMap", "slurm-login-ssh-config"), ("Deployment", "slurm-login"),
        ("Secret", "slurm-login-ssh-host-keys"), ("Service", "slurm-login"),
    },
    ("NodeSet", NODE_SET): {
        ("Pod", f"{NODE_SET}-0"), ("Pod", f"{NODE_SET}-1"), ("PodDisruptionBudget", "slurm-workers-pdb-slurm"),
        ("Service", "slurm-workers-slurm"), ("ControllerRevision", f"{NODE_SET}-{_template()}"),
    },
    ("RestApi", "slurm"): {("Deployment", "slurm-restapi"), ("Service", "slurm-restapi")},
    ("Secret", "slurm-auth-jwt"): {("Secret", "admin-jwt-slurm")},
}  # fmt: skip
"""Every object that the sample comes to, by its owner. The token's Secret belongs to the key that makes it good."""


@simulated
async def test_the_sample_comes_up_with_every_object_owned() -> None:
    async with cluster() as (here, _):
        owned = _owned(here.sight)
        assert {owner: owned.get(owner) for owner in OWNED} == OWNED
        assert {owner[0] for owner in owned} - {owner[0] for owner in OWNED} == {"Deployment", "StatefulSet"}
        assert {kind for kind, _ in here.sight.customs()} == set(CUSTOMS)
        assert set(here.slurm.nodes) == {"compute-0", "compute-1"}
        await here.until(lambda: here.sight("NodeSet", NODE_SET).status["slurmIdle"] == 2, within=31)
        status = here.sight("NodeSet", NODE_SET).status
        assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (2, 2, 2)


@pytest.mark.parametrize("owner", [*OWNED, ("Token", TOKEN)], ids=lambda owner: owner[0])
@simulated
async def test_what_is_deleted_takes_its_own_along_and_nothing_else(owner: tuple[str, str]) -> None:
    async with cluster() as (here, _):
        if owner[0] == "Controller":  # it would stay for them
            await here.delete("NodeSet", NODE_SET)
            await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None)
        before = here.sight.places("Event")
        going = _closure(here.sight, owner)
        await here.delete(*owner)
        await asyncio.sleep(120)
        assert before - here.sight.places("Event") == going
        assert here.sight.places("Event") <= before


def _closure(sight: Sight, owner: tuple[str, str]) -> set[tuple[str, str]]:
    """An object, and all that goes with it: what has lost the last of its owners."""
    owned, going = _owned(sight), {owner}
    while more := {one for one in set().union(*owned.values()) - going if _owners(owned, one) <= going}:
        going |= more
    return going


def _owners(owned: dict[tuple[str, str], set[tuple[str, str]]], one: tuple[str, str]) -> set[tuple[str, str]]:
    return {owner for owner, its in owned.items() if one in its}


def _owned(sight: Sight) -> dict[tuple[str, str], set[tuple[str, str]]]:
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for kind in _all_kinds():
        for item in sight.all(kind):
            for owner in item.metadata.owner_references:
                found.setdefault((owner.kind, owner.name), set()).add((kind, item.metadata.name))
    return found


def _all_kinds() -> list[str]:
    return [
        *CUSTOMS, "ConfigMap", "ControllerRevision", "Deployment", "PersistentVolumeClaim", "Pod",
        "PodDisruptionBudget", "Secret", "Service", "StatefulSet", "Node",
    ]  # fmt: skip


@simulated
async def test_a_configuration_that_could_not_be_read_back_is_read_back_when_slurm_answers() -> None:
    async with cluster() as (here, _):

        def reason() -> object:
            return here.sight.condition("Controller", "slurm", "ConfigurationLive")["reason"]

        here.slurmrestd.away = True
        await here.edit("Controller", "slurm", spec={"extraConf": "MaxJobCount=4321"})
        await here.until(lambda: reason() == "Reconfigured", within=30)
        await asyncio.sleep(60)
        here.slurmrestd.away = False
        await here.until(lambda: reason() == "ReadBack", within=15)
