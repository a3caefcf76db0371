"""Claims of workers: made before their pods, and grown as far as the cluster lets them (ST-1, ST-5).

Whose they are, and when they go, is in `test_life`.
"""

from __future__ import annotations

import asyncio

import pytest

from penstock.api.objects import Json
from penstock.render import labels

from .loop import now, simulated
from .manifests import NAMESPACE, NODE_SET, Seen
from .port import Fault, Port
from .test_life import with_claims
from .world import World, cluster

CLAIM, CLAIMS = "PersistentVolumeClaim", "persistentvolumeclaims"
MADE = {CLAIMS, "pods"}
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


@simulated
async def test_claims_that_lost_their_labels_get_them_back_and_all_holds_for_them_again() -> None:
    """The watch shows claims by their labels: without, they would be made at every look, and neither grow nor go."""
    async with cluster(with_claims("Retain", "Delete"), replicas=3) as (here, operator):
        before = {name: here.sight(CLAIM, name).metadata.uid for name in (FIRST, SECOND)}
        for name in before:
            await here.edit(CLAIM, name, metadata={"labels": {labels.NAME: None, labels.INSTANCE: None}})
        await here.until(lambda: all(_is_labelled(here, name) for name in before), within=10)
        since = now()
        await _look_on(here, until=since + 60)
        assert not [one for one in operator.port.writes(since) if one.resource == CLAIMS]
        await grow(here, "5Gi")
        await here.until(lambda: size(here, SECOND) == "5Gi", within=3)
        assert before == {name: here.sight(CLAIM, name).metadata.uid for name in before}
        await here.scale(1)
        await here.until(lambda: here.sight.get(CLAIM, SECOND) is None, within=60)


@simulated
async def test_a_claim_that_was_there_before_its_worker_is_taken_in() -> None:
    """Somebody restored it from a snapshot: its data are the worker's, and its own labels stay (ST-1, ST-3)."""
    async with cluster(with_claims("Delete", "Retain"), replicas=1) as (here, _):
        await here.apply([made_by_hand(SECOND, labels={"restored": "yes", labels.COMPONENT: "data"})])
        uid = here.sight(CLAIM, SECOND).metadata.uid
        await here.scale(2)
        await here.until(lambda: len(here.sight.workers()) == 2, within=10)
        await here.until(lambda: _owners(here, SECOND) == ["NodeSet"], within=10)
        meta = here.sight(CLAIM, SECOND).metadata
        assert meta.uid == uid
        assert meta.labels == here.sight(CLAIM, FIRST).metadata.labels | {"restored": "yes", labels.COMPONENT: "data"}


@pytest.mark.parametrize(
    ("its", "words"),
    [
        (None, f'claim "{SECOND}" belongs to StatefulSet "slurm-controller"; delete or rename one of the two'),
        (
            {labels.NAME: "db"},
            f'claim "{SECOND}" is labelled {labels.NAME}=db; label it slurmd if it is of this NodeSet, or rename one',
        ),
        (
            {labels.NAME: "slurmd", labels.INSTANCE: "other"},
            f'claim "{SECOND}" is labelled {labels.INSTANCE}=other; label it {NODE_SET} if it is of this NodeSet',
        ),
    ],
    ids=["owned", "labelled", "of-another-NodeSet"],
)
@simulated
async def test_a_claim_of_somebody_else_keeps_its_seat_empty_and_no_other(its: Json | None, words: str) -> None:
    """It is told, not changed, and not asked for at every look; when it is gone the worker comes (ST-1)."""
    async with cluster(with_claims("Delete", "Delete"), replicas=1) as (here, operator):
        uid = here.sight("StatefulSet", "slurm-controller").metadata.uid
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "slurm-controller", "uid": uid}
        metadata = {"ownerReferences": [{**owner, "controller": True}]} if its is None else {"labels": its}
        await here.apply([made_by_hand(SECOND, **metadata)])
        before, began = here.sight(CLAIM, SECOND).metadata, now()
        await here.scale(4)
        await here.until(lambda: _numbers(here) == {0, 2, 3}, within=10)
        await here.until(lambda: _told(here) == "NameTaken", within=3)
        assert words in here.sight.condition("NodeSet", NODE_SET, "Degraded")["message"]
        await _look_on(here, until=began + AGAIN_AFTER - 10)
        assert _told(here) == "NameTaken"
        assert (len(refused(operator.port, began)), _numbers(here)) == (1, {0, 2, 3})
        assert here.sight(CLAIM, SECOND).metadata == before
        await here.delete(CLAIM, SECOND)
        await here.until(lambda: _numbers(here) == {0, 1, 2, 3}, within=2 * AGAIN_AFTER)
        await here.until(lambda: not _told(here), within=5)


@simulated
async def test_a_claim_without_labels_that_is_being_deleted_is_waited_for() -> None:
    """A worker on it would keep it from going, and lose its data when it goes."""
    async with cluster(with_claims("Retain", "Retain"), replicas=1) as (here, _):
        await here.apply([made_by_hand(SECOND, finalizers=["example.org/backup"])])
        uid = here.sight(CLAIM, SECOND).metadata.uid
        await here.delete(CLAIM, SECOND)
        await here.scale(3)
        await asyncio.sleep(30)
        assert _numbers(here) == {0, 2}
        await here.edit(CLAIM, SECOND, metadata={"finalizers": []})
        await here.until(lambda: _numbers(here) == {0, 1, 2}, within=10)
        assert here.sight(CLAIM, SECOND).metadata.uid != uid


@simulated
async def test_a_claim_whose_labels_cannot_be_put_back_is_told_and_not_asked_for_at_every_look() -> None:
    """Its worker has it all the same, and keeps no other from anything; whoever mends it need not tell us."""
    async with cluster(with_claims("Retain", "Retain"), replicas=1) as (here, operator):
        operator.port.unchangeable = frozenset({SECOND})
        await here.apply([made_by_hand(SECOND)])
        began = now()
        await here.scale(3)
        await here.until(lambda: len(here.sight.workers()) == 3, within=10)
        await here.until(lambda: _told(here) == "Refused", within=3)
        said = here.sight.condition("NodeSet", NODE_SET, "Degraded")["message"]
        assert f'claim "{SECOND}" lacks labels, without which it neither grows nor goes: simulated' in said
        assert f"{labels.NAME}=slurmd" in said
        await _look_on(here, until=began + AGAIN_AFTER - 10)
        assert len(refused(operator.port, began)) == 2, "made in vain, labelled in vain"
        operator.port.unchangeable = frozenset()
        await here.until(lambda: _is_labelled(here, SECOND), within=2 * AGAIN_AFTER)
        await here.until(lambda: not _told(here), within=5)


def made_by_hand(name: str, **metadata: object) -> Json:
    """A claim that is none of ours, as yet."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    about = {"name": name, "namespace": NAMESPACE, **metadata}
    return {"apiVersion": "v1", "kind": CLAIM, "metadata": about, "spec": spec}


def _is_labelled(here: World, name: str) -> bool:
    of = here.sight(CLAIM, name).metadata.labels
    return (of.get(labels.NAME), of.get(labels.INSTANCE)) == ("slurmd", NODE_SET)


def _owners(here: World, name: str) -> list[str]:
    return [one.kind for one in here.sight(CLAIM, name).metadata.owner_references]


def _numbers(here: World) -> set[int]:
    return {int(pod.metadata.name.rpartition("-")[2]) for pod in here.sight.workers()}


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
    async with cluster(with_claims(before, "Retain"), replicas=2) as (here, _):
        claims = [one.metadata.name for one in here.sight.all("PersistentVolumeClaim") if NODE_SET in one.metadata.name]
        here.slurm.submit(2, 30)
        await asyncio.sleep(5)
        await here.delete("NodeSet", NODE_SET)
        await asyncio.sleep(5)
        await here.edit("NodeSet", NODE_SET, spec={"persistentVolumeClaimRetentionPolicy": {"whenDeleted": after}})
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=60)
        await asyncio.sleep(1)
        kept = [name for name in claims if here.sight.get("PersistentVolumeClaim", name) is not None]
        assert (len(claims), kept) == (2, claims if after == "Retain" else [])


@pytest.mark.parametrize(("before", "after"), [("Delete", "Retain"), ("Retain", "Delete")])
@simulated
async def test_who_changes_it_when_the_workers_are_gone_can_only_keep_claims(before: str, after: str) -> None:
    """Nobody heard of the change before it could go (ST-3, seed 83552).

    Those without owner may have been taken from it by somebody who deletes it without them.
    """
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
        assert kept == claims
