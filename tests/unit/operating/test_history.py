"""Revisions are kept in the cluster, whatever goes wrong on the way (NS-5)."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.rendering.builders import node_set

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.cluster.errors import Conflict, Unreachable
from penstock.cluster.port import Cluster
from penstock.cluster.wrapper import WRITES, Wrapper
from penstock.operator.nodeset.history import History
from penstock.operator.nodeset.revision import HASH, OURS, revision
from penstock.operator.nodeset.revisions import KEPT, hash_of, in_order, is_ours
from penstock.operator.owned import NameTaken
from penstock.operator.resources import REVISIONS, Revision
from penstock.render import labels
from penstock.render.labels import CHANGE_CAUSE, PIN

from .scene import PERSON, Scene, played
from .test_revisions import slinkys


def history(scene: Scene, cluster: Cluster | None = None) -> History:
    """One that remembers nothing, as after a restart."""
    return History(cluster or scene.cluster, scene.views[REVISIONS.kind])


async def asking(scene: Scene) -> Callable[..., NodeSet]:
    """A NodeSet that is there; called, it is one that asks for an image."""
    uid = (await scene.custom()).metadata.uid

    def asks(tag: int, *, limit: int = 0, **annotations: str) -> NodeSet:
        about = {"uid": uid, "annotations": annotations}
        return node_set("n", slurmd={"image": f"slurm:{tag}"}, revisionHistoryLimit=limit, metadata=about)

    return asks


async def there(scene: Scene) -> list[Revision]:
    """All ControllerRevisions, the oldest first."""
    return in_order((await scene.store.list(REVISIONS)).items)


async def put(scene: Scene, one: Revision, owner: str, **metadata: Any) -> None:
    """Have a revision that somebody else made."""
    meta = one.metadata
    reference = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "name": "n", "uid": owner}
    about = {
        "name": meta.name,
        "namespace": "hpc",
        "labels": meta.labels,
        "ownerReferences": [reference | {"controller": True}],
    }
    body = {"metadata": about | metadata, "data": one.data, "revision": one.revision}
    await scene.store.create(REVISIONS, body, manager=PERSON)


@played
async def test_each_new_template_is_kept_once(scene: Scene) -> None:
    asks, keeping = await asking(scene), history(scene)
    for tag in (1, 1, 2, 2, 2):
        found = await keeping.record(asks(tag))
        assert revision(asks(tag)) in map(hash_of, found)
        await scene.seen()
    assert [(one.revision, one.data["spec"]) for one in await there(scene)] == [
        (1, {"slurmd": {"image": "slurm:1"}}), (2, {"slurmd": {"image": "slurm:2"}}),
    ]  # fmt: skip
    assert scene.calls["create"] == 2
    assert scene.calls["patch"] == 0


@played
async def test_at_rest_nothing_is_asked(scene: Scene) -> None:
    asks = await asking(scene)
    await history(scene).record(asks(1))
    await scene.seen()
    before, fresh = scene.calls.copy(), history(scene)
    for _ in range(3):
        await fresh.record(asks(1))
        await fresh.trim(asks(1), [])
    assert scene.calls == before


@played
async def test_while_the_watch_is_behind_nothing_is_written_twice(scene: Scene) -> None:
    asks, keeping = await asking(scene), history(scene)
    await scene.behind()
    for tag in (1, 1, 2, 1, 1):
        await keeping.record(asks(tag))
    assert (scene.calls["create"], scene.calls["patch"]) == (2, 1)
    assert [(hash_of(one), one.revision) for one in await there(scene)] == [
        (revision(asks(2)), 2), (revision(asks(1)), 3),
    ]  # fmt: skip


@played
async def test_after_a_restart_the_one_that_was_made_is_found_though_no_watch_shows_it(scene: Scene) -> None:
    asks = await asking(scene)
    await scene.behind()
    await history(scene).record(asks(1))
    found = await history(scene).record(asks(1))
    assert [hash_of(one) for one in found] == [revision(asks(1))]
    assert len(await there(scene)) == 1


@played
async def test_what_was_made_and_deleted_behind_our_back_is_made_again(scene: Scene) -> None:
    """Under the same hash: a worker of it is no older than before."""
    asks, keeping = await asking(scene), history(scene)
    for _ in range(2):
        await keeping.record(asks(1))
        await scene.seen()
        (one,) = await there(scene)
        assert hash_of(one) == revision(asks(1))
        await scene.store.delete(REVISIONS, one.metadata.name, namespace="hpc")
        await scene.seen()


@played
async def test_an_old_one_that_is_used_again_gets_the_highest_number(scene: Scene) -> None:
    asks, keeping = await asking(scene), history(scene)
    for tag in (1, 2, 1):
        await keeping.record(asks(tag))
        await scene.seen()
    assert {hash_of(one): one.revision for one in await there(scene)} == {revision(asks(1)): 3, revision(asks(2)): 2}


@played
async def test_a_cause_is_told_when_it_is_made_and_when_it_is_said(scene: Scene) -> None:
    asks, keeping = await asking(scene), history(scene)
    await keeping.record(asks(1, **{CHANGE_CAUSE: "new drivers"}))
    await keeping.record(asks(2))
    await keeping.record(asks(2, **{CHANGE_CAUSE: "newer drivers"}))
    causes = [one.metadata.annotations.get(CHANGE_CAUSE) for one in await there(scene)]
    assert causes == ["new drivers", "newer drivers"]


@played
async def test_a_name_that_somebody_else_has_makes_another_hash_and_the_same_one_ever_after(scene: Scene) -> None:
    asks = await asking(scene)
    stranger = {"name": f"n-{revision(asks(1))}", "namespace": "hpc"}
    await scene.store.create(REVISIONS, {"metadata": stranger, "data": {"spec": {"x": 1}}, "revision": 9})
    first = [hash_of(one) for one in await history(scene).record(asks(1))]
    assert first != [revision(asks(1))]
    await scene.store.delete(REVISIONS, stranger["name"], namespace="hpc")
    await scene.seen()
    assert [hash_of(one) for one in await history(scene).record(asks(1))] == first
    assert len(await there(scene)) == 1


@played
async def test_one_of_another_node_set_is_not_ours_however_alike(scene: Scene) -> None:
    asks = await asking(scene)
    await history(scene).record(asks(1))
    (one,) = await there(scene)
    other = node_set("n", slurmd={"image": "slurm:1"}, metadata={"uid": "another"})
    (found,) = await history(scene).record(other)
    assert hash_of(found) != hash_of(one)
    assert await scene.store.get(REVISIONS, one.metadata.name, "hpc") == one


@played
async def test_when_every_name_is_taken_somebody_is_told(scene: Scene) -> None:
    asks = await asking(scene)

    class Crowded(Wrapper):
        async def create(self, resource: Any, body: Json, **options: Any) -> Any:
            about = {"name": body["metadata"]["name"], "namespace": "hpc"}
            await scene.store.create(resource, {"metadata": about, "revision": 1})
            return await super().create(resource, body, **options)

    with pytest.raises(NameTaken, match="rename the NodeSet"):
        await history(scene, Crowded(scene.cluster)).record(asks(1))


@played
async def test_one_that_lost_its_owner_is_taken_back(scene: Scene) -> None:
    """As after `kubectl delete nodeset --cascade=orphan`, when the NodeSet is made anew."""
    asks = await asking(scene)
    await history(scene).record(asks(1))
    (one,) = await there(scene)
    nobodys = {"metadata": {"ownerReferences": None}}
    await scene.store.patch(REVISIONS, one.metadata.name, nobodys, namespace="hpc", manager=PERSON)
    await scene.seen()
    await history(scene).record(asks(1))
    (after,) = await there(scene)
    assert (after.metadata.name, after.metadata.uid) == (one.metadata.name, one.metadata.uid)
    assert [owner.uid for owner in after.metadata.owner_references] == [asks(1).metadata.uid]


@played
async def test_one_that_somebody_changed_meanwhile_is_not_written_over(scene: Scene) -> None:
    asks, keeping = await asking(scene), history(scene)
    for tag in (1, 2):
        await keeping.record(asks(tag))
    await scene.behind()
    (first, _) = await there(scene)
    await scene.store.patch(REVISIONS, first.metadata.name, {"revision": 7}, namespace="hpc", manager=PERSON)
    with pytest.raises(Conflict):
        await keeping.record(asks(1))
    await scene.seen()
    await keeping.record(asks(1))
    assert [one.revision for one in await there(scene)] == [2, 7]


@played
async def test_old_ones_go_and_those_in_use_stay(scene: Scene) -> None:
    asks, keeping = await asking(scene), history(scene)
    for tag in range(1, 16):
        await keeping.record(asks(tag))
        await scene.seen()
    in_use = revision(asks(1))
    await keeping.trim(asks(15), [in_use])
    left = [one.data["spec"]["slurmd"]["image"] for one in await there(scene)]
    assert left == ["slurm:1", *(f"slurm:{tag}" for tag in range(15 - KEPT, 16))]
    await scene.seen()
    await keeping.trim(asks(15, limit=1, **{PIN: "1"}), [])
    left = [one.data["spec"]["slurmd"]["image"] for one in await there(scene)]
    assert left == ["slurm:1", "slurm:14", "slurm:15"]


@played
async def test_slinkys_are_taken_over_and_ours_comes_behind_them(scene: Scene) -> None:
    asks = await asking(scene)
    uid = asks(1).metadata.uid
    for tag in (1, 2):
        await put(scene, slinkys(tag), uid)
    await put(scene, slinkys(3), (await scene.custom(name="other")).metadata.uid)
    await history(scene).record(asks(5))
    await scene.seen()
    mine = [one for one in await there(scene) if one.metadata.name != "n-go3"]
    assert [(one.metadata.name, one.revision) for one in mine] == [
        ("n-go1", 1), ("n-go2", 2), (f"n-{revision(asks(5))}", 3),
    ]  # fmt: skip
    assert [is_ours(one) for one in mine] == [False, False, True]
    assert all(one.metadata.labels[labels.INSTANCE] == "n" for one in mine)
    stranger = await scene.store.get(REVISIONS, "n-go3", "hpc")
    assert stranger.metadata.labels == {HASH: "go3"}


@played
async def test_one_of_slinkys_that_says_the_same_is_the_newest_and_stays_so(scene: Scene) -> None:
    """No second one is made, neither now nor at any later look, and no list is asked for again."""
    asks = await asking(scene)
    await put(scene, slinkys(1), asks(1).metadata.uid)
    for _ in range(3):
        found = await history(scene).record(asks(1))
        assert [(one.metadata.name, hash_of(one)) for one in found] == [("n-go1", revision(asks(1)))]
        await scene.seen()
    assert (scene.calls["create"], scene.calls["list"]) == (0, len(scene.views) + 1)
    assert OURS.items() <= (await there(scene))[0].metadata.labels.items()


class Failing(Wrapper):
    """A way to the cluster on which one write is lost, before or after it took effect."""

    def __init__(self, cluster: Cluster, number: int, *, late: bool) -> None:
        super().__init__(cluster, self._told)
        self._left, self._late = number, late

    @asynccontextmanager
    async def _told(self, verb: str, _resource: str) -> AsyncIterator[None]:
        self._left -= verb in WRITES
        now = verb in WRITES and self._left == -1
        if now and not self._late:
            raise Unreachable("lost on the way")
        yield
        if now:
            raise Unreachable("the answer is lost")


async def lived(scene: Scene, cluster: Cluster) -> tuple[list[Json], int]:
    """The life of a NodeSet that was Slinky's; whoever keeps its history dies of every failure, and is followed."""
    asks, deaths = await asking(scene), 0
    for tag in (1, 2, 3):
        await put(scene, slinkys(tag), asks(1).metadata.uid)
    for tag in (3, 4, 5, 4, 6, 1):
        for _ in itertools.count():
            keeping = history(scene, cluster)
            try:
                await keeping.record(asks(tag, limit=3))
                await keeping.trim(asks(tag, limit=3), [revision(asks(2))])
                break
            except Unreachable:
                deaths += 1
                await scene.seen()
        await scene.seen()
    return [_lasting(one) for one in await there(scene)], deaths


def _lasting(one: Revision) -> Json:
    meta = one.metadata
    owners = [(owner.uid, owner.controller) for owner in meta.owner_references]
    return {"name": meta.name, "labels": meta.labels, "owners": owners, "number": one.revision, "data": one.data}


def ends(number: int, *, late: bool) -> tuple[list[Json], int]:
    """How the life ends when the write of a number goes wrong."""
    end: list[tuple[list[Json], int]] = []

    async def life(scene: Scene) -> None:
        end.append(await lived(scene, Failing(scene.cluster, number, late=late)))

    played(life)()
    return end[0]


@pytest.mark.parametrize("late", [False, True], ids=["before it took effect", "after it took effect"])
def test_whichever_write_is_lost_the_end_is_the_same(late: bool) -> None:
    good, _ = ends(10**6, late=late)
    assert [one["number"] for one in good] == sorted({one["number"] for one in good})
    for number in itertools.count():
        end, deaths = ends(number, late=late)
        assert end == good, f"write {number}"
        if not deaths:
            assert number > 10, "else nothing was tried"
            return
