"""Owned objects: applied when something differs, and only then; what others did to them stays theirs."""

from __future__ import annotations

import asyncio

import pytest

from penstock.api.objects import Json
from penstock.cluster.errors import NotFound
from penstock.cluster.resources import Lean
from penstock.operator.owned import NameTaken, Owned
from penstock.operator.resources import CLAIMS, CONFIG_MAPS, DEPLOYMENTS, SERVICE_MONITORS

from .scene import PERSON, Scene, controlled_by, played


def config_map(owner: Lean, name: str = "settings", **data: str) -> Json:
    metadata = {"name": name, "namespace": "hpc", "labels": {"app": "x"}, "ownerReferences": [controlled_by(owner)]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {"a": "1"}}


def deployment(owner: Lean, name: str = "web", *, image: str = "i:1", replicas: int = 1) -> Json:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "main", "image": image}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": config_map(owner, name)["metadata"] | {"annotations": {"note": "ours"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "x"}}, "template": template},
    }


@played
async def test_an_object_is_applied_once(scene: Scene) -> None:
    """However often it is asked for, and whether or not it has a generation."""
    owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
    for body in (config_map(owner), deployment(owner)):
        assert await owned.keep(body)
        await scene.seen()
        assert not await owned.keep(body)
        assert not await owned.keep(body)
    assert scene.calls["apply"] == 2


@played
async def test_an_object_that_is_so_already_is_applied_once_and_not_changed(scene: Scene) -> None:
    """As after a restart, when nothing is remembered."""
    owner = await scene.custom()
    await Owned(scene.cluster, scene.owned).keep(config_map(owner))
    await scene.seen()
    before, owned = await scene.there("ConfigMap", "settings"), Owned(scene.cluster, scene.owned)
    assert not await owned.keep(config_map(owner))
    assert not await owned.keep(config_map(owner))
    assert scene.calls["apply"] == 2
    assert await scene.there("ConfigMap", "settings") == before


@played
async def test_a_changed_wish_is_applied(scene: Scene) -> None:
    """What it leaves out goes."""
    owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
    await owned.keep(config_map(owner, a="1", b="2"))
    await scene.seen()
    assert await owned.keep(config_map(owner, a="3"))
    assert (await scene.there("ConfigMap", "settings")).data == {"a": "3"}


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"replicas": 5}},
        {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "bad"}]}}}},
        {"metadata": {"labels": {"app": "y"}}},
        {"metadata": {"labels": {"app": None}}},
        {"metadata": {"annotations": {"note": "theirs"}}},
        {"metadata": {"ownerReferences": []}},
    ],
    ids=str,
)
def test_what_somebody_changed_is_put_right(patch: Json) -> None:
    @played
    async def story(scene: Scene) -> None:
        owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
        await owned.keep(deployment(owner))
        await scene.seen()
        before = await scene.there("Deployment", "web")
        await scene.edit("Deployment", "web", **patch)
        await scene.seen()
        assert await owned.keep(deployment(owner))
        after = await scene.there("Deployment", "web")
        assert (after.spec, after.metadata.labels) == (before.spec, before.metadata.labels)
        assert after.metadata.annotations == before.metadata.annotations
        assert after.metadata.owner_references == before.metadata.owner_references
        await scene.seen()
        assert not await owned.keep(deployment(owner))

    story()


@played
async def test_a_changed_object_without_a_generation_is_put_right(scene: Scene) -> None:
    owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
    await owned.keep(config_map(owner))
    await scene.seen()
    await scene.edit("ConfigMap", "settings", data={"a": "2"})
    await scene.seen()
    assert await owned.keep(config_map(owner))
    assert (await scene.there("ConfigMap", "settings")).data == {"a": "1"}


@played
async def test_a_deleted_object_is_made_anew(scene: Scene) -> None:
    owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
    await owned.keep(config_map(owner))
    await scene.seen()
    await scene.store.delete(CONFIG_MAPS, "settings", namespace="hpc")
    await scene.seen()
    assert await owned.keep(config_map(owner))
    assert (await scene.there("ConfigMap", "settings")).data == {"a": "1"}


@played
async def test_a_new_status_is_nobodys_change(scene: Scene) -> None:
    owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
    await owned.keep(deployment(owner))
    status = {"status": {"replicas": 1, "readyReplicas": 1}}
    await scene.store.patch(DEPLOYMENTS, "web", status, namespace="hpc", subresource="status", manager=PERSON)
    await scene.seen()
    assert not await owned.keep(deployment(owner))
    assert scene.calls["apply"] == 1


@played
async def test_fields_of_others_stay(scene: Scene) -> None:
    """Also when our wish changes; and once looked at, they cost nothing more."""
    owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
    await owned.keep(config_map(owner))
    await scene.edit("ConfigMap", "settings", data={"theirs": "x"}, metadata={"labels": {"team": "x"}})
    await scene.seen()
    assert not await owned.keep(config_map(owner))
    assert not await owned.keep(config_map(owner))
    assert scene.calls["apply"] == 2
    await owned.keep(config_map(owner, a="2"))
    after = await scene.there("ConfigMap", "settings")
    assert after.data == {"a": "2", "theirs": "x"}
    assert after.metadata.labels == {"app": "x", "team": "x"}


@played
async def test_our_own_write_is_not_taken_for_somebody_elses_while_the_watch_is_behind(scene: Scene) -> None:
    owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
    await owned.keep(deployment(owner))
    await scene.behind()
    assert await owned.keep(deployment(owner, image="i:2"))
    assert not await owned.keep(deployment(owner, image="i:2"))
    await scene.seen()
    assert not await owned.keep(deployment(owner, image="i:2"))
    assert scene.calls["apply"] == 2


@played
async def test_what_we_made_is_given_time_to_be_shown(scene: Scene) -> None:
    """What is not shown even then has come and gone unseen."""
    owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
    await scene.behind()
    assert await owned.keep(config_map(owner))
    assert not await owned.keep(config_map(owner))
    assert scene.calls["apply"] == 1
    await asyncio.sleep(31)
    await owned.keep(config_map(owner))
    assert scene.calls["apply"] == 2


@played
async def test_an_object_of_another_controller_is_left_alone(scene: Scene) -> None:
    theirs, ours = await scene.custom(name="theirs"), await scene.custom(name="ours")
    await scene.store.create(CONFIG_MAPS, config_map(theirs, a="theirs"))
    await scene.seen()
    before = await scene.there("ConfigMap", "settings")
    with pytest.raises(NameTaken) as caught:
        await Owned(scene.cluster, scene.owned).keep(config_map(ours))
    assert str(caught.value) == (
        'ConfigMap "settings" in namespace "hpc" belongs to NodeSet "theirs"; rename one of the two'
    )
    assert await scene.there("ConfigMap", "settings") == before
    assert scene.calls["apply"] == 0


@played
async def test_what_somebody_wrote_under_our_name_is_not_overwritten(scene: Scene) -> None:
    """It has no owner, so nobody would notice; and it may be all that is left of somebody's work."""
    ours = await scene.custom()
    theirs = config_map(ours, a="theirs")
    del theirs["metadata"]["ownerReferences"]
    await scene.store.create(CONFIG_MAPS, theirs, manager=PERSON)
    await scene.seen()
    with pytest.raises(NameTaken, match=r'ConfigMap "settings" in namespace "hpc" was written by somebody else'):
        await Owned(scene.cluster, scene.owned).keep(config_map(ours))
    assert (await scene.there("ConfigMap", "settings")).data == {"a": "theirs"}


@played
async def test_an_object_that_no_watch_shows_goes_when_it_is_not_wanted(scene: Scene) -> None:
    """Looked for once, and only what is the owner's."""
    owner, other = await scene.custom(), await scene.custom(name="other")
    for name, of in (("mine", owner), ("theirs", other)):
        body = {"metadata": {"name": name, "namespace": "hpc", "ownerReferences": [controlled_by(of)]}}
        await scene.store.create(SERVICE_MONITORS, body)
    owned = Owned(scene.cluster, scene.owned)
    for name in ("mine", "theirs", "nobodys", "mine", "theirs", "nobodys"):
        await owned.remove_unwatched(SERVICE_MONITORS, "hpc", name, owner=owner.metadata.uid)
    assert [item.metadata.name for item in (await scene.store.list(SERVICE_MONITORS)).items] == ["theirs"]
    assert (scene.calls["get"], scene.calls["delete"]) == (3, 1)


@played
async def test_what_is_not_wanted_any_more_goes(scene: Scene) -> None:
    """Only what the owner controls, and never a claim: it holds people's data."""
    owner, other = await scene.custom(), await scene.custom(name="other")
    owned = Owned(scene.cluster, scene.owned)
    plain = config_map(owner, "plain")
    plain["metadata"]["ownerReferences"][0]["controller"] = False
    nobodys = config_map(owner, "nobodys")
    del nobodys["metadata"]["ownerReferences"]
    claim = {**config_map(owner, "data"), "kind": "PersistentVolumeClaim", "spec": {"accessModes": ["ReadWriteOnce"]}}
    del claim["data"]
    await scene.store.create(CLAIMS, claim)
    for body in (config_map(owner, "old"), config_map(owner, "kept"), config_map(other, "others"), plain, nobodys):
        await scene.store.create(CONFIG_MAPS, body)
    await scene.store.create(DEPLOYMENTS, deployment(owner))
    await scene.seen()
    gone = await owned.prune(owner.metadata.uid, [config_map(owner, "kept")])
    assert gone == [("ConfigMap", "hpc", "old"), ("Deployment", "hpc", "web")]
    left = {item.metadata.name for item in (await scene.store.list(CONFIG_MAPS)).items}
    assert left == {"kept", "others", "plain", "nobodys"}
    assert (await scene.there("PersistentVolumeClaim", "data")).metadata.name == "data"
    await scene.seen()
    assert await owned.prune(owner.metadata.uid, [config_map(owner, "kept")]) == []


@played
async def test_what_was_made_anew_meanwhile_is_not_what_was_to_go(scene: Scene) -> None:
    """The watch is behind: somebody took the name, or the object is gone already."""
    owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
    await owned.keep(config_map(owner))
    await owned.keep(config_map(owner, "gone"))
    await scene.behind()
    for name in ("settings", "gone"):
        await scene.store.delete(CONFIG_MAPS, name, namespace="hpc")
    await scene.store.create(CONFIG_MAPS, {"metadata": {"name": "settings", "namespace": "hpc"}, "data": {"my": "own"}})
    assert await owned.prune(owner.metadata.uid, []) == []
    assert (await scene.there("ConfigMap", "settings")).data == {"my": "own"}


@played
async def test_a_kind_that_nobody_watches_is_applied_once_per_wish(scene: Scene) -> None:
    owner, owned = await scene.custom(), Owned(scene.cluster, scene.owned)
    monitor = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "m", "namespace": "hpc", "ownerReferences": [controlled_by(owner)]},
        "spec": {"endpoints": []},
    }
    assert await owned.keep(monitor)
    assert not await owned.keep(monitor)
    assert await owned.keep(monitor | {"spec": {"endpoints": [{"port": "web"}]}})
    assert scene.calls["apply"] == 2


@played
async def test_what_does_not_exist_is_not_live(scene: Scene) -> None:
    owned = Owned(scene.cluster, scene.owned)
    assert owned.live("ConfigMap", "hpc", "settings") is None
    assert owned.live("ServiceMonitor", "hpc", "m") is None
    with pytest.raises(NotFound):
        await scene.there("ConfigMap", "settings")
