"""ControllerRevisions, as those who keep templates in them rely on: what is in one stays as it was written."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.cluster.errors import Conflict, Refused
from penstock.cluster.resources import Resource

from .world import NODE_SETS, Object, World, contract, refused


class Revision(Object, frozen=True):
    """With its number, and anything in it."""

    revision: int = 0
    data: Any = None


REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision", Revision)
ODD: Json = {
    "spec": {
        "null": None, "list": [], "map": {}, "text": "", "no": False, "zero": 0, "half": 0.5,
        "deep": {"volumes": [{"name": "a", "emptyDir": {}}, None], "probe": None},
        "script": "a < b && c > d; echo '\u2028 \u00e9 \U0001f600 \\ \"\t'",
    }
}  # fmt: skip
"""All that a program might tidy away, or write otherwise."""


def kept(world: World, name: str = "set-1", number: int = 1, **metadata: Any) -> Json:
    """A revision."""
    return {"metadata": world.named(name, **metadata), "data": ODD, "revision": number}


@contract
async def test_what_is_kept_in_a_revision_comes_back_as_it_was(world: World) -> None:
    made = await world.cluster.create(REVISIONS, kept(world))
    assert (made.data, made.revision) == (ODD, 1)
    assert (await world.get(REVISIONS, "set-1")).data == ODD
    (listed,) = (await world.cluster.list(REVISIONS, world.here)).items
    assert listed.data == ODD


@contract
async def test_its_number_its_labels_and_its_owner_may_change(world: World) -> None:
    """Whatever is in it: a server that writes it otherwise than we do must not take that for a change."""
    owner = await world.cluster.create(NODE_SETS, world.node_set("set"))
    made = await world.cluster.create(REVISIONS, kept(world))
    reference = world.owner(owner, "NodeSet", "slinky.slurm.net/v1beta1", controller=True)
    about = {"resourceVersion": made.metadata.resource_version, "labels": {"a": "b"}, "ownerReferences": [reference]}
    patch = {"revision": 7, "metadata": about}
    after = await world.cluster.patch(REVISIONS, "set-1", patch, namespace=world.namespace)
    assert (after.revision, after.data, after.metadata.labels) == (7, ODD, {"a": "b"})
    assert [one.uid for one in after.metadata.owner_references] == [owner.metadata.uid]
    with refused(Conflict):
        await world.cluster.patch(REVISIONS, "set-1", patch | {"revision": 8}, namespace=world.namespace)


@pytest.mark.parametrize("data", [{"spec": {"null": "something"}}, {"more": 1}])
def test_what_is_in_it_may_not(adapter: Any, data: Json) -> None:
    @contract
    async def refuses(world: World) -> None:
        await world.cluster.create(REVISIONS, kept(world))
        with refused(Refused, "data", "field is immutable"):
            await world.cluster.patch(REVISIONS, "set-1", {"data": data}, namespace=world.namespace)
        assert (await world.get(REVISIONS, "set-1")).data == ODD

    refuses(adapter)
