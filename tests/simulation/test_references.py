"""What kinds refer to: missing, it is named and waited for; changed, the right objects follow, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from penstock.api.objects import Json

from .loop import simulated
from .manifests import JWT_KEY, NODE_SET, everything, secret
from .sight import Sight
from .world import cluster, world

Place = tuple[str, str]
CONFIG, SLURMCTLD = ("ConfigMap", "slurm-config"), ("StatefulSet", "slurm-controller")
SLURMDBD, SLURMRESTD, LOGIN = (
    ("StatefulSet", "slurm-accounting"),
    ("Deployment", "slurm-restapi"),
    ("Deployment", "login"),
)
RING = ("Secret", "keys-ring")
SLURMDBD_CONF, JWT = ("Secret", "slurm-accounting"), ("Secret", "admin-jwt-slurm")

CHANGES: dict[str, tuple[Place, Json, set[Place]]] = {
    "slurm key": (("Secret", "keys"), {"slurm.key": "bmV3LWtleS1mb3ItYWxsLWRhZW1vbnMtb2YtdGhlLXRlc3Q="}, {
        SLURMDBD, SLURMCTLD, RING}),
    "jwt key": (("Secret", "keys"), {"jwt.key": "bmV3LWtleS1mb3ItYWxsLXRva2Vucy1vZi10aGUtdGVzdHM="}, {
        SLURMDBD, SLURMCTLD, SLURMRESTD, JWT}),
    "password": (("Secret", "mariadb-password"), {"password": "bmV3"}, {SLURMDBD_CONF, SLURMDBD}),
    "sssd": (("Secret", "sssd"), {"sssd.conf": "bmV3"}, {LOGIN}),
    "jwks": (("ConfigMap", "identity"), {"jwks.json": '{"keys": [1]}'}, {SLURMCTLD, SLURMDBD}),
    "a file's text": (("ConfigMap", "files"), {"job_submit.lua": "-- new\n"}, set()),
    "a file that slurm.conf takes note of": (("ConfigMap", "files"), {"cli_filter.lua": "-- new\n"}, set()),
    "a new prolog": (("ConfigMap", "prolog"), {"prolog-99-new.sh": "#!/bin/sh\n"}, {CONFIG, SLURMCTLD}),
    "a prolog's text": (("ConfigMap", "prolog"), {"prolog-10-health.sh": "#!/bin/sh\nexit 1\n"}, set()),
    "a slurmctld script": (("ConfigMap", "slurmctld-scripts"), {"more.sh": "#!/bin/sh\n"}, {CONFIG, SLURMCTLD}),
}  # fmt: skip
"""What is changed, how, and the objects that must be applied for it."""

REFERENCES: list[tuple[Place, set[Place]]] = [
    (("Secret", "keys"), {("Controller", "slurm"), ("Accounting", "slurm"), ("Token", "admin")}),
    (("Secret", "mariadb-password"), {("Accounting", "slurm")}),
    (("Secret", "sssd"), {("LoginSet", "login"), ("NodeSet", "gpu")}),
    (("ConfigMap", "identity"), {("Controller", "slurm"), ("Accounting", "slurm")}),
    (("ConfigMap", "files"), {("Controller", "slurm")}),
    (("ConfigMap", "prolog"), {("Controller", "slurm")}),
    (("ConfigMap", "slurmctld-scripts"), {("Controller", "slurm")}),
]
"""Every object that is referred to, and by whom."""


@pytest.mark.parametrize("what", CHANGES)
@simulated
async def test_a_changed_reference_leads_to_the_right_objects(what: str) -> None:
    (kind, name), data, expected = CHANGES[what]
    async with cluster(everything()) as (here, _):
        before = _wishes(here.sight)
        await here.edit(kind, name, data=data)
        await asyncio.sleep(60)
        after = _wishes(here.sight)
        assert {place for place in after if after[place] != before.get(place)} == expected
        await here.ready(within=900)


@pytest.mark.parametrize(("place", "referrers"), REFERENCES, ids=lambda one: one[1] if isinstance(one, tuple) else "")
@simulated
async def test_a_missing_reference_is_named_and_waited_for(place: Place, referrers: set[Place]) -> None:
    kind, name = place
    documents = everything()
    late = [body for body in documents if (body["kind"], body["metadata"]["name"]) == place]
    async with world() as here:
        await here.apply(body for body in documents if body not in late)
        here.start()
        await asyncio.sleep(60)
        for one in referrers:
            told = here.sight.condition(*one, "Degraded")
            assert (told["status"], told["reason"]) == ("True", "ReferenceMissing"), one
            assert f'names {kind} "{name}' in told["message"]
        await here.apply(late)
        await here.until(lambda: not _waiting(here.sight, referrers), within=1.0, what=f"{place} has come")
        await here.ready()


@pytest.mark.parametrize("order", [("Controller", "Accounting"), ("Accounting", "Controller")], ids=" then ".join)
@simulated
async def test_a_kind_that_is_referred_to_may_come_later(order: tuple[str, str]) -> None:
    documents = everything()
    later = sorted((body for body in documents if body["kind"] in order), key=lambda body: order.index(body["kind"]))
    async with world() as here:
        await here.apply(body for body in documents if body not in later)
        here.start()
        await asyncio.sleep(60)
        assert 'controllerRef names Controller "slurm"' in here.sight.condition("NodeSet", "cpu", "Degraded")["message"]
        assert here.sight.workers() == []
        for body in later:
            await here.apply([body])
            await asyncio.sleep(1)
        await here.ready()


@pytest.mark.parametrize("place", [place for place, _ in REFERENCES], ids=lambda place: place[1])
@simulated
async def test_a_reference_that_vanishes_changes_nothing_that_runs(place: Place) -> None:
    async with cluster(everything()) as (here, _):
        before = _wishes(here.sight)
        documents = [body for body in everything() if (body["kind"], body["metadata"]["name"]) == place]
        pods = {pod.metadata.uid for pod in here.sight.all("Pod")}
        await here.delete(*place)
        await asyncio.sleep(60)
        after = _wishes(here.sight)
        assert {one for one in before if after.get(one) != before[one]} <= {place, JWT}
        await here.apply(documents)
        await here.ready()
        assert {pod.metadata.uid for pod in here.sight.all("Pod")} == pods


def _wishes(sight: Sight) -> dict[Place, Json]:
    kinds = ("ConfigMap", "Deployment", "PodDisruptionBudget", "Secret", "Service", "StatefulSet")
    given = {(body["kind"], body["metadata"]["name"]) for body in everything()}
    items = ((kind, item) for kind in kinds for item in sight.all(kind))
    return {
        (kind, item.metadata.name): {"spec": item.spec, "data": item.data}
        for kind, item in items
        if (kind, item.metadata.name) not in given
    }


def _waiting(sight: Sight, referrers: Collection[Place]) -> list[Place]:
    return [one for one in referrers if sight.condition(*one, "Degraded")["reason"] == "ReferenceMissing"]


@simulated
async def test_a_jwt_key_that_is_too_short_is_told_and_nothing_goes() -> None:
    """Whoever gave it is told so; what Slurm does not say is not known."""
    async with cluster(replicas=2) as (here, operator):
        await here.apply([secret(JWT_KEY, **{"jwt.key": "short"})])
        await asyncio.sleep(30)
        await here.scale(1)
        await asyncio.sleep(60)
        assert len(here.sight.workers()) == 2
        assert "JWT key cannot be used" in here.sight.condition("NodeSet", NODE_SET, "Degraded")["message"]
        assert not operator.task.done()
