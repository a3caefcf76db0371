"""Claims of workers: made before their pods, and grown as far as the cluster lets them (ST-1, ST-5).

Whose they are, and when they go, is in `test_life`.
"""

from __future__ import annotations

import asyncio

import pytest

from penstock.api.objects import Json

from .loop import now, simulated
from .manifests import NODE_SET, Seen
from .port import Fault, Port
from .test_life import with_claims
from .world import World, cluster

MADE = {"persistentvolumeclaims", "pods"}
AGAIN_AFTER = 300.0
"""Seconds after which what was refused is asked for again."""
FIRST, SECOND = (f"scratch-{NODE_SET}-{number}" for number in (0, 1))


async def grow(here: World, size: str) -> None:
    """Somebody wants larger claims."""
    [template] = here.sight("NodeSet", NODE_SET).spec["volumeClaimTemplates"]
    wanted: Json = {**template, "spec": {**template["spec"], "resources": {"requests": {"storage": size}}}}
    await here.edit("NodeSet", NODE_SET, spec={"volumeClaimTemplates": [wanted]})


def size(here: World, claim: str) -> str:
    return str(here.sight("PersistentVolumeClaim", claim).spec["resources"]["requests"]["storage"])


def refused(port: Port, since: float = 0.0) -> list[float]:
    """When changes of claims were asked for in vain."""
    return [one.at for one in port.writes(since) if one.resource == "persistentvolumeclaims" and not one.done]


@simulated
async def test_a_claim_that_must_not_grow_is_told_and_not_asked_for_at_every_look() -> None:
    """Its storage class may not allow it; whoever looks after a while asks once more (ST-5)."""
    async with cluster(with_claims("Retain", "Retain"), replicas=2) as (here, operator):
        port = operator.port
        port.unchangeable = frozenset({SECOND})
        began = now()
        await grow(here, "5Gi")
        await here.until(lambda: _told(here) == "ClaimsNotGrown", within=3)
        message = here.sight.condition("NodeSet", NODE_SET, "Degraded")["message"]
        assert f'claim "{SECOND}" cannot grow to 5Gi: simulated: somebody does not let it change' in message
        await here.until(lambda: size(here, FIRST) == "5Gi", within=3, what="one refusal stops no other")
        await _look_on(here, until=began + AGAIN_AFTER - 10)
        assert _told(here) == "ClaimsNotGrown"
        assert len(refused(port)) == 1
        await _look_on(here, until=began + AGAIN_AFTER + 20)
        assert _told(here) == "ClaimsNotGrown"
        assert len(refused(port)) == 2, "asked again, and told no again"
        port.unchangeable = frozenset()
        await _look_on(here, until=began + 2 * AGAIN_AFTER - 10)
        assert (size(here, SECOND), _told(here)) == ("1Gi", "ClaimsNotGrown")
        await _look_on(here, until=began + 2 * AGAIN_AFTER + 40)
        assert (size(here, SECOND), _told(here)) == ("5Gi", "")
        assert len(refused(port)) == 2
        await here.until(lambda: f"{SECOND}: to 5Gi" in here.sight.events("ClaimGrows"), within=5)


@simulated
async def test_another_size_is_asked_for_at_once() -> None:
    """What was refused was that size: another one may be allowed, and one that is large enough needs no asking."""
    async with cluster(with_claims("Retain", "Retain"), replicas=2) as (here, operator):
        port = operator.port
        port.unchangeable = frozenset({SECOND})
        await grow(here, "5Gi")
        await here.until(lambda: _told(here) == "ClaimsNotGrown", within=3)
        await grow(here, "6Gi")
        await here.until(lambda: len(refused(port)) == 2, within=3)
        await asyncio.sleep(1)
        message = here.sight.condition("NodeSet", NODE_SET, "Degraded")["message"]
        assert "6Gi" in message
        assert "5Gi" not in message, "nobody wants that any more"
        await grow(here, "1Gi")
        await here.until(lambda: not _told(here), within=3, what="nobody wants it to grow any more")
        port.unchangeable = frozenset()
        await grow(here, "3Gi")
        await here.until(lambda: size(here, SECOND) == "3Gi", within=3)
        assert (len(refused(port)), size(here, FIRST)) == (2, "6Gi")


@simulated
async def test_a_claim_that_may_grow_after_all_does_though_nothing_else_happens() -> None:
    """Somebody mended the storage class, of which we hear nothing."""
    async with cluster(with_claims("Retain", "Retain"), replicas=2) as (here, operator):
        operator.port.unchangeable = frozenset({SECOND})
        await grow(here, "5Gi")
        await here.until(lambda: _told(here) == "ClaimsNotGrown", within=3)
        operator.port.unchangeable = frozenset()
        await here.until(lambda: size(here, SECOND) == "5Gi", within=2 * AGAIN_AFTER)
        await here.until(lambda: not _told(here), within=5)


@pytest.mark.parametrize("latency", [0.01, 1.0])
@simulated
async def test_claims_are_there_before_the_pod_that_uses_them(latency: float) -> None:
    """Each worker's own, however slow the API server is, and in whichever order many of them are made (ST-1)."""
    async with cluster(with_claims("Retain", "Retain"), replicas=0) as (here, operator):
        operator.port.latency = latency
        came = list[str]()

        def note(old: Seen | None, new: Seen | None) -> None:
            if old is None and new is not None:
                came.append(new.metadata.name)

        for kind in ("PersistentVolumeClaim", "Pod"):
            here.sight.subscribe(kind, note)
        began = now()
        await here.scale(1)
        await here.until(lambda: len(here.sight.workers()) == 1, within=60)
        made = [one.resource for one in operator.port.writes(began) if one.verb == "create" and one.resource in MADE]
        assert made == ["persistentvolumeclaims", "pods"]
        await here.scale(40)
        await here.until(lambda: len(here.sight.workers()) == 40, within=120)
        for number in range(40):
            assert came.index(f"scratch-{NODE_SET}-{number}") < came.index(f"{NODE_SET}-{number}"), number


@simulated
async def test_a_pod_whose_claims_cannot_be_made_is_not_made_either() -> None:
    """It would wait for them on a machine, if for anything."""
    async with cluster(with_claims("Retain", "Retain"), replicas=1) as (here, operator):
        began = now()
        operator.port.next_of["create"] = Fault.REFUSED
        await here.scale(2)
        await here.until(lambda: len(here.sight.workers()) == 2, within=120)
        tried = [one for one in operator.port.writes(began) if one.verb == "create" and one.resource in MADE]
        made = [(one.resource, one.done) for one in tried]
        assert made == [("persistentvolumeclaims", False), ("persistentvolumeclaims", True), ("pods", True)]


async def _look_on(here: World, *, until: float) -> None:
    """Have the NodeSet looked at every ten seconds."""
    while now() < until:
        await here.edit("NodeSet", NODE_SET, metadata={"annotations": {"note": f"{now():.0f} s"}})
        await asyncio.sleep(min(10.0, until - now()) or 0.1)


def _told(here: World) -> str:
    """Why the set is Degraded; nothing when it is not."""
    told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
    return str(told["reason"]) if told["status"] == "True" else ""


@pytest.mark.parametrize(("before", "after"), [("Delete", "Retain"), ("Retain", "Delete")])
@simulated
async def test_who_changes_the_policy_of_a_set_that_goes_has_the_last_word(before: str, after: str) -> None:
    """Though its workers are gone and nobody heard of the change before it could go (ST-3, seed 83552)."""
    async with cluster(with_claims(before, "Retain"), replicas=2) as (here, operator):
        claims = [one.metadata.name for one in here.sight.all("PersistentVolumeClaim") if NODE_SET in one.metadata.name]
        assert len(claims) == 2
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: all(one.metadata.deletion_timestamp for one in here.sight.workers()), within=10)
        await operator.stop()
        await here.until(lambda: not here.sight.workers(), within=10)
        policy = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": after}}
        await here.edit("NodeSet", NODE_SET, spec=policy)
        here.start()
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=60)
        await asyncio.sleep(1)
        kept = [name for name in claims if here.sight.get("PersistentVolumeClaim", name) is not None]
        assert kept == (claims if after == "Retain" else [])
