"""Whose claims are whose, case by case (ST-1, ST-3, ST-5; facts/slinky.md 3.2.10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from tests.unit.rendering.builders import node_set

from penstock.cluster.resources import Meta, OwnerReference
from penstock.operator.nodeset.claims import Claims
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.snapshot import HOSTNAME_OVERRIDE, Snapshot, claim_names
from penstock.operator.nodeset.steps import Plan
from penstock.operator.resources import Claim, ClaimResources, ClaimSpec, Machine
from penstock.render import labels

from .test_plan_updates import old, rolling
from .workers import (
    Worker,
    busy,
    drained,
    ended,
    given,
    idle,
    leaving,
    machine,
    on,
    pod,
    said,
    spread,
    starting,
    told,
)

OWN = "uid of n"
POLICIES = [(deleted, scaled) for deleted in ("Retain", "Delete") for scaled in ("Retain", "Delete")]


def owner(kind: str, uid: str, *, controller: bool = True) -> OwnerReference:
    return OwnerReference(kind=kind, name=uid.removeprefix("uid-"), uid=uid, controller=controller)


def claim(ordinal: int, *owners: OwnerReference, size: str = "1Gi", going: bool = False) -> Claim:
    meta = Meta(
        name=f"data-n-{ordinal}", namespace="hpc", uid=f"uid of claim {ordinal}", resource_version="1",
        owner_references=owners, deletion_timestamp="2026-11-16T08:00:00Z" if going else None,
    )  # fmt: skip
    return Claim(metadata=meta, spec=ClaimSpec(ClaimResources({"storage": size})))


def with_claims(
    replicas: int, *workers: Worker, claims: list[Claim], policy: tuple[str, str] = ("Retain", "Retain"), **spec: Any
) -> Snapshot:
    retention = {"whenDeleted": policy[0], "whenScaled": policy[1]}
    template = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    spec = {"volumeClaimTemplates": [template], "persistentVolumeClaimRetentionPolicy": retention} | spec
    now = given(replicas, *workers, **spec)
    return replace(now, claims={one.metadata.name: one for one in claims})


def node_set_owner(now: Snapshot) -> OwnerReference:
    return owner("NodeSet", now.node_set.metadata.uid)


def tended(decided: Plan) -> dict[str, list[str]]:
    return {
        one.claim.metadata.name: [each["kind"] for each in one.owners] for one in decided.tend if one.owners is not None
    }


def gone_with(decided: Plan) -> list[str]:
    return [each.metadata.name for one in decided.remove for each in one.claims]


@pytest.mark.parametrize("policy", POLICIES)
def test_while_nobody_leaves_the_set_owns_claims_or_nobody_does(policy: tuple[str, str]) -> None:
    now = with_claims(1, idle(0), claims=[claim(0)], policy=policy)
    its = node_set_owner(now)
    wanted = policy[0] == "Delete"
    assert tended(plan(now)) == ({"data-n-0": ["NodeSet"]} if wanted else {})
    owned = replace(now, claims={"data-n-0": claim(0, its)})
    assert tended(plan(owned)) == ({} if wanted else {"data-n-0": []}), "a changed policy counts for old claims too"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("owned", [False, True])
def test_a_claim_goes_with_a_worker_only_by_scale_in(policy: tuple[str, str], owned: bool) -> None:
    now = with_claims(1, idle(0), drained(1), claims=[claim(0), claim(1)], policy=policy)
    if owned:
        its = node_set_owner(now)
        now = replace(now, claims={one.metadata.name: one for one in (claim(0, its), claim(1, its))})
    assert gone_with(plan(now)) == (["data-n-1"] if policy[1] == "Delete" else [])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_claim_never_goes_with_a_worker_that_goes_otherwise(policy: tuple[str, str]) -> None:
    """An update, an end, a deletion by somebody, a cordon, the end of the NodeSet itself."""
    claims = [claim(0), claim(1)]
    for now in (
        with_claims(2, idle(0), old(drained(1)), claims=claims, policy=policy, **rolling(1)),
        with_claims(2, idle(0), ended(1), claims=claims, policy=policy),
        with_claims(2, idle(0), leaving(idle(1)), claims=claims, policy=policy),
        with_claims(1, busy(1, annotations={"slinky.slurm.net/pod-cordon": "true"}), claims=claims, policy=policy),
        replace(with_claims(2, drained(0), drained(1), claims=claims, policy=policy), deleting=True),
    ):
        decided = plan(now)
        assert gone_with(decided) == []
        assert all("Pod" not in kinds for kinds in tended(decided).values())


def test_a_worker_that_stays_after_all_gives_its_claim_back() -> None:
    """It was given to the pod right before its deletion, which then failed, or the operator died."""
    given_away = claim(1, owner("Pod", "uid-n-1"))
    now = with_claims(2, idle(0), drained(1), claims=[claim(0), given_away], policy=("Retain", "Delete"))
    assert tended(plan(now)) == {"data-n-1": []}
    now = with_claims(1, idle(0), drained(1), claims=[claim(0), given_away], policy=("Retain", "Delete"))
    assert (tended(plan(now)), gone_with(plan(now))) == ({}, ["data-n-1"])
    now = with_claims(1, idle(0), drained(1), claims=[claim(0), given_away], policy=("Retain", "Retain"))
    assert (tended(plan(now)), gone_with(plan(now))) == ({"data-n-1": []}, []), "the policy has changed meanwhile"


def test_a_claim_that_goes_with_a_leaving_pod_is_left_alone_and_blocks_its_seat() -> None:
    given_away = claim(1, owner("Pod", "uid-n-1"))
    policy = ("Retain", "Delete")
    now = with_claims(1, idle(0), leaving(drained(1)), claims=[claim(0), given_away], policy=policy)
    assert tended(plan(now)) == {}
    again = with_claims(2, idle(0), claims=[claim(0), given_away], policy=policy)
    assert told(plan(again)) == []
    assert "is being deleted" in plan(again).blocked[0].why
    assert told(plan(with_claims(2, idle(0), claims=[claim(0)], policy=policy))) == ["make n-1"]


@pytest.mark.parametrize(
    ("in_the_way", "words"),
    [
        (claim(1, going=True), 'claim "data-n-1" is being deleted'),
        (claim(1, owner("StatefulSet", "uid-db")), 'belongs to StatefulSet "db"'),
    ],
)
def test_a_seat_waits_for_its_claims(in_the_way: Claim, words: str) -> None:
    """ST-1: the other seats do not."""
    decided = plan(with_claims(3, idle(0), claims=[claim(0), in_the_way]))
    assert told(decided) == ["make n-2"]
    assert [words in one.why for one in decided.blocked] == [True]


def test_a_foreign_claim_is_never_changed() -> None:
    foreign = claim(1, owner("StatefulSet", "uid-db"), size="1Mi")
    decided = plan(with_claims(1, idle(0), drained(1), claims=[claim(0), foreign], policy=("Delete", "Delete")))
    assert gone_with(decided) == []
    assert tended(decided).keys() == {"data-n-0"}
    assert decided.conflicts == ['claim "data-n-1" belongs to StatefulSet "db"; delete or rename one of the two']


def test_other_owners_of_a_claim_keep_it() -> None:
    backup = owner("Backup", "uid-backup", controller=False)
    decided = plan(with_claims(1, idle(0), claims=[claim(0, backup)], policy=("Delete", "Retain")))
    assert tended(decided) == {"data-n-0": ["Backup", "NodeSet"]}


def test_a_claim_that_somebody_deleted_is_made_again() -> None:
    now = with_claims(2, idle(0), starting(1), claims=[claim(0)], policy=("Delete", "Retain"))
    [body] = plan(now).claims
    assert body["metadata"]["name"] == "data-n-1"
    assert body["metadata"]["labels"][labels.INSTANCE] == "n"


def on_machines(*workers: Worker, takers: tuple[Machine, ...], claims: tuple[str, ...] = ()) -> Snapshot:
    """A NodeSet with a worker, and two claims, on each machine."""
    wanted = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    templates = [{"metadata": {"name": name}, **wanted} for name in ("data", "scratch")]
    now = spread([one.metadata.name for one in takers], *workers)
    there = {name: Claim(metadata=Meta(name=name, namespace="hpc", uid=name)) for name in claims}
    made = node_set("n", scalingMode="DaemonSet", volumeClaimTemplates=templates)
    return replace(now, node_set=made, takers=takers, claims=there)


RACK = machine("rack1.example.com")
NAMED = machine("rack1.example.com", annotations={HOSTNAME_OVERRIDE: "gpu7"})


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (machine("rack1"), ["data-n-rack1", "scratch-n-rack1"]),
        (RACK, ["data-n-rack1", "scratch-n-rack1"]),
        (NAMED, ["data-n-gpu7", "scratch-n-gpu7"]),
    ],
)
def test_claims_of_a_machines_worker_have_the_name_of_its_slurm_node(where: Machine, names: list[str]) -> None:
    """Not of its pod, whose name says nothing to anybody: claim, NodeSet, Slurm node (ST-1)."""
    now = on_machines(takers=(where,))
    [one] = plan(now).create
    assert claim_names(now.node_set, one.seat) == names
    assert [body["metadata"]["name"] for body in Claims(now).made_for(one.seat)] == names


def test_a_machines_worker_gets_back_the_claims_of_its_own_name() -> None:
    """The pod tells it: the machine may be called otherwise by now."""
    worker = Worker(
        pod(on("rack1").pod.metadata.name, machine="rack1.example.com", node="rack1"), said("rack1", "IDLE")
    )
    now = on_machines(worker, takers=(RACK,), claims=("data-n-rack1", "scratch-n-gpu7"))
    assert told(plan(now)) == ["claim scratch-n-rack1"]
    now = on_machines(worker, takers=(RACK,), claims=("data-n-rack1", "scratch-n-rack1"))
    assert told(plan(now)) == []


@pytest.mark.parametrize(
    ("has", "wanted", "grows"),
    [("1Gi", "2Gi", "2Gi"), ("1Gi", "1Gi", None), ("2Gi", "1Gi", None), ("1Gi", "1024Mi", None), ("1G", "1Gi", "1Gi")],
)
def test_claims_grow_with_their_template_and_never_shrink(has: str, wanted: str, grows: str | None) -> None:
    """ST-5."""
    template = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": wanted}}}}
    now = with_claims(1, idle(0), claims=[claim(0, size=has)], volumeClaimTemplates=[template])
    assert [one.request for one in plan(now).tend] == ([grows] if grows else [])


@pytest.mark.parametrize("turned", [False, True])
def test_a_claim_is_of_the_template_that_it_is_named_by_though_another_is_called_alike(*, turned: bool) -> None:
    """The NodeSet is "n": "data-n-n-0" is of template "data-n", and begins as those of "data" do (ST-5)."""
    templates = [
        {"metadata": {"name": name}, "spec": {"resources": {"requests": {"storage": size}}}}
        for name, size in (("data", "8Gi"), ("data-n", "2Gi"))
    ]
    other = claim(0, size="1Gi")
    other = structs.replace(other, metadata=structs.replace(other.metadata, name="data-n-n-0", uid="the other"))
    claims = [claim(0, size="8Gi"), other]
    now = with_claims(1, idle(0), claims=claims, volumeClaimTemplates=templates[::-1] if turned else templates)
    assert [(one.claim.metadata.name, one.request) for one in plan(now).tend] == [("data-n-n-0", "2Gi")]
