"""Workers follow revisions: forth, back, pinned; and those that Slinky made are taken over as they run (NS-5)."""

from __future__ import annotations

import asyncio
import os
import random
from functools import cache

import pytest

from penstock.api.objects import Json
from penstock.operator.nodeset.revision import HASH, OURS
from penstock.render import labels
from penstock.render.labels import PIN

from .loop import simulate, simulated
from .manifests import NAMESPACE, NODE_SET, RESOURCES, Seen, sample
from .port import Fault, Port
from .story import End, replayable, rest, tell
from .world import World, cluster

TRIES = int(os.environ.get("PENSTOCK_SIMULATIONS", "3"))
SEED = int(os.environ.get("PENSTOCK_SEED", "1"))


@simulated
async def test_a_template_rolls_forth_and_back_and_each_is_kept_once() -> None:
    async with cluster(replicas=3) as (here, operator):
        first = _hash(here)
        await _asks(here, "slurm:2")
        await here.until(lambda: _hashes(here) == {_hash(here)} != {first}, within=300, what="all of the second")
        second = _hash(here)
        await _asks(here, None)
        await here.until(lambda: _hashes(here) == {first}, within=300, what="all of the first again")
        await here.ready(within=300)
        assert {one.metadata.labels[HASH]: one.revision for one in _kept(here)} == {first: 3, second: 2}
        assert operator.port.counted()["create", "controllerrevisions.apps"] == 2


@simulated
async def test_a_revision_is_written_down_before_a_worker_of_it_is_made() -> None:
    async with cluster(replicas=3) as (here, _):
        unkept: list[str] = []

        def look(old: Seen | None, new: Seen | None) -> None:
            if old is None and new is not None and labels.POD_INDEX in new.metadata.labels:
                kept = {one.metadata.labels.get(HASH) for one in _kept(here)}
                unkept.extend({new.metadata.labels.get(HASH, "none")} - kept)

        here.sight.subscribe("Pod", look)
        for tag in range(2, 5):
            await _asks(here, f"slurm:{tag}")
            await here.until(lambda: _hashes(here) == {_hash(here)}, within=300)
        assert unkept == []


@simulated
async def test_a_pin_leads_workers_back_while_the_spec_stays() -> None:
    async with cluster(replicas=3) as (here, _):
        first = _hash(here)
        await _asks(here, "slurm:2")
        await here.until(lambda: _hashes(here) == {_hash(here)} != {first}, within=300)
        await _pin(here, "1")
        await here.until(lambda: _hashes(here) == {first}, within=300, what="all of the first")
        await here.ready(within=300)
        assert here.sight("NodeSet", NODE_SET).spec["slurmd"]["image"] == "slurm:2"
        await here.scale(5)
        await here.until(lambda: len(here.sight.workers()) == 5 and _hashes(here) == {first}, within=60)
        await _pin(here, None)
        await here.until(lambda: first not in _hashes(here), within=300, what="all as the spec says")
        await here.ready(within=300)


@simulated
async def test_a_pin_that_leads_nowhere_replaces_nobody_and_says_so() -> None:
    async with cluster(replicas=3) as (here, _):
        await _asks(here, "slurm:2")
        await here.until(lambda: len(_hashes(here)) == 1 and _hashes(here) == {_hash(here)}, within=300)
        await here.ready(within=300)
        before, now = _uids(here), _hash(here)
        await _pin(here, "99")
        await _asks(here, "slurm:3")
        # As in the middle of an update: one is of an older template.
        old = _kept(here)[0].metadata.labels[HASH]
        await here.edit("Pod", here.sight.workers()[2].metadata.name, metadata={"labels": {HASH: old}})
        await asyncio.sleep(120)
        assert _uids(here) == before
        told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
        assert (told["status"], told["reason"]) == ("True", "UnknownRevision")
        assert f"2 ({now})" in told["message"]
        await here.delete("Pod", here.sight.workers()[0].metadata.name)
        await here.until(lambda: len(_uids(here) - before) == 1, within=60, what="another in its place")
        assert _hashes(here) == {now, old}, "it is as most of the others are"
        await _pin(here, None)
        await here.until(lambda: now not in _hashes(here), within=300)


@simulated
async def test_slurm_conf_is_written_for_the_revision_that_workers_are_pinned_to() -> None:
    async with cluster(replicas=2) as (here, _):
        await here.edit("NodeSet", NODE_SET, spec={"template": {"spec": {"hostname": "other-"}}})
        await here.until(lambda: "NodeSet=other" in _slurm_conf(here), within=60)
        await here.until(lambda: _is_rolled(here), within=300)
        await _pin(here, "1")
        await here.until(lambda: "NodeSet=compute" in _slurm_conf(here), within=60, what="the first one's name")
        await here.until(lambda: _is_rolled(here), within=300)
        assert "NodeSet=other" not in _slurm_conf(here)


@simulated
async def test_a_revision_that_somebody_deletes_is_kept_again_at_once_and_nobody_is_replaced() -> None:
    async with cluster(replicas=2) as (here, _):
        before, (one,) = _uids(here), _kept(here)
        await here.delete("ControllerRevision", one.metadata.name)
        await here.until(lambda: _kept(here), within=1, what="it is back")
        assert [each.metadata.labels[HASH] for each in _kept(here)] == [one.metadata.labels[HASH]]
        await asyncio.sleep(60)
        assert _uids(here) == before


@simulated
async def test_a_hash_that_is_taken_never_replaces_workers() -> None:
    """The first workers carry the hash under which their revision was really kept."""
    async with cluster(replicas=2) as (here, _):
        (one,) = _kept(here)
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: not here.sight.get("NodeSet", NODE_SET) and not _kept(here), within=120)
        theirs = {"metadata": {"name": one.metadata.name, "namespace": NAMESPACE}, "revision": 1}
        await here.store.create(RESOURCES["ControllerRevision"], theirs, manager="somebody")
        gone: list[str] = []
        here.kubernetes.on_leaving.append(lambda pod: gone.append(pod.metadata.name))
        await here.apply(document for document in sample() if document["metadata"]["name"] == NODE_SET)
        await here.until(lambda: len(here.sight.workers()) == 2, within=60)
        await asyncio.sleep(120)
        assert gone == []
        assert _hashes(here) == {_hash(here)} != {one.metadata.labels[HASH]}


@simulated
async def test_workers_that_slinky_made_are_relabelled_and_not_replaced() -> None:
    async with cluster(replicas=3) as (here, operator):
        await operator.crash()
        before = _uids(here)
        await _as_slinky_left_it(here)
        here.start()
        await here.until(lambda: _hashes(here) == {_hash(here)}, within=30, what="our hash on every worker")
        await asyncio.sleep(120)
        assert _uids(here) == before
        assert all(OURS.items() <= one.metadata.labels.items() for one in here.sight.workers())
        assert not any(node.drain for node in here.slurm.nodes.values())
        assert [one.revision for one in _kept(here)] == sorted({one.revision for one in _kept(here)})
        assert "n-go" in {one.metadata.name for one in _kept(here)}
        await _asks(here, "slurm:2")
        await here.until(lambda: not _uids(here) & before, within=300, what="from then on they are as ours")


async def there_and_back(here: World) -> None:
    """A cluster, a new template while jobs run, another, back to the first, a pin to the second."""
    await here.apply(sample())
    await rest(here)
    here.slurm.submit(2, 60)
    for image in ("slurm:2", "slurm:3", None):
        await _asks(here, image)
        await here.until(lambda: _is_rolled(here), within=900, what=f"all of {image}")
        await rest(here)
    await _pin(here, next(one.metadata.labels[HASH] for one in _kept(here) if one.revision == 2))
    await here.until(lambda: _is_rolled(here), within=900, what="all of the pin")
    await rest(here)


def _is_rolled(here: World) -> bool:
    node_set = here.sight("NodeSet", NODE_SET)
    seen = node_set.status["observedGeneration"] == node_set.metadata.generation
    return seen and _hashes(here) == {_hash(here)}


@cache
def undisturbed() -> tuple[End, int]:
    """How it ends when nothing happens, and how many calls that takes."""
    ports: list[Port] = []

    def port(here: World, _: int) -> Port:
        ports.append(Port(here.store))
        return ports[-1]

    return simulate(tell(port, there_and_back)), len(ports[0].calls)


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
@pytest.mark.parametrize("pick", [random.Random(f"{SEED} {number}").random() for number in range(TRIES)])  # noqa: S311
def test_whichever_call_goes_wrong_the_end_is_the_same(fault: Fault, pick: float) -> None:
    """The same workers of the same revisions, under the same numbers."""
    end, calls = undisturbed()
    number = int(pick * calls)

    def port(here: World, life: int) -> Port:
        made = Port(here.store)
        made.faults = {number: fault} if life == 0 else {}
        return made

    with replayable(f"call {number} of {calls}, {fault.name}"):
        assert simulate(tell(port, there_and_back)) == end


async def _as_slinky_left_it(here: World) -> None:
    """No revision of ours, one of Slinky's, and its hash on workers that do not say whose they are."""
    uid = here.sight("NodeSet", NODE_SET).metadata.uid
    owner = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "name": NODE_SET, "uid": uid}
    for one in _kept(here):
        await here.delete("ControllerRevision", one.metadata.name)
    theirs: Json = {
        "metadata": {
            "name": "n-go", "namespace": NAMESPACE, "labels": {HASH: "go"},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "data": {"spec": {"template": {"$patch": "replace"}, "slurmd": {"name": "", "image": "slurm:1"}}},
        "revision": 1,
    }  # fmt: skip
    await here.store.create(RESOURCES["ControllerRevision"], theirs, manager="slurm-operator")
    changed = {HASH: "go", labels.MANAGED_BY: None, labels.SLINKY_COMPONENT: None}
    for pod in here.sight.workers():
        await here.edit("Pod", pod.metadata.name, metadata={"labels": changed})


async def _asks(here: World, image: str | None) -> None:
    await here.edit("NodeSet", NODE_SET, spec={"slurmd": {"image": image}})


async def _pin(here: World, word: str | None) -> None:
    await here.edit("NodeSet", NODE_SET, metadata={"annotations": {PIN: word}})


def _slurm_conf(here: World) -> str:
    return str(here.sight("ConfigMap", "slurm-config").data["slurm.conf"])


def _hash(here: World) -> str:
    return str(here.sight("NodeSet", NODE_SET).status["nodeSetHash"])


def _hashes(here: World) -> set[str]:
    return {one.metadata.labels.get(HASH, "") for one in here.sight.workers()}


def _uids(here: World) -> set[str]:
    return {one.metadata.uid for one in here.sight.workers()}


def _kept(here: World) -> list[Seen]:
    mine = [one for one in here.sight.all("ControllerRevision") if one.metadata.labels.get(HASH)]
    return sorted(mine, key=lambda one: one.revision)
