"""How a worker registers: as its pod says, or its revision, or nobody knows."""

from __future__ import annotations

import msgspec
from tests.unit.rendering.builders import node_set

from penstock.api.nodeset import NodeSet
from penstock.cluster.resources import Meta
from penstock.operator.nodeset import revisions
from penstock.operator.nodeset.revision import HASH, revision
from penstock.operator.registration import UNKNOWN, parted, restored
from penstock.operator.resources import Pod, Revision
from penstock.render.labels import REGISTRATION

from .workers import pod

STATIC, DYNAMIC = node_set("w", registration="Static"), node_set("w")


def made_from(of: NodeSet) -> Revision:
    """The revision of a set's template."""
    body = revisions.body(of, 1)
    meta = Meta(name=body["metadata"]["name"], labels=body["metadata"]["labels"], resource_version="1")
    return Revision(metadata=meta, data=body["data"], revision=1)


def judged(*pods: Pod, by: tuple[Revision, ...] = (made_from(STATIC), made_from(DYNAMIC))) -> list[str]:
    """Of each pod how it registers."""
    found = parted(pods, by)._asdict()
    return [next(way for way, some in found.items() if one in some) for one in pods]


def test_a_pod_tells_itself_whatever_its_revision_says() -> None:
    """The newest hash is given to workers that are taken over, and revisions come and go."""
    one = pod("w-0", labels={REGISTRATION: "Dynamic", HASH: revision(STATIC)})
    other = pod("w-1", labels={REGISTRATION: "Static", HASH: revision(DYNAMIC)})
    assert judged(one, other) == judged(one, other, by=()) == ["dynamic", "static"]


def test_for_one_that_an_older_operator_made_its_revision_tells() -> None:
    one, other = pod("w-0", labels={HASH: revision(STATIC)}), pod("w-1", labels={HASH: revision(DYNAMIC)})
    assert judged(one, other) == ["static", "dynamic"]


def test_of_others_nobody_knows() -> None:
    """No revision, none that can be read, two of one hash that say different things, no hash, or so the label says."""
    old = pod("w-0", labels={HASH: revision(STATIC)})
    unreadable = msgspec.structs.replace(made_from(STATIC), data={"spec": {"registration": 7}})
    alike = msgspec.structs.replace(made_from(DYNAMIC), metadata=made_from(STATIC).metadata)
    for known in ((), (unreadable,), (made_from(STATIC), alike)):
        assert judged(old, by=known) == ["unknown"]
    said = pod("w-0", labels={HASH: revision(STATIC), REGISTRATION: UNKNOWN})
    assert judged(pod("w-0"), said) == ["unknown", "unknown"]


def test_a_worker_that_lost_labels_is_not_told_how_it_was_made() -> None:
    """The set of today may say otherwise. With the newest hash alone it would be taken for what that is of."""
    wanted = {"a": "b", HASH: "new", REGISTRATION: "Static"}
    assert restored(wanted) == wanted | {REGISTRATION: UNKNOWN}
    assert restored({"a": "b", REGISTRATION: "Static"}) == {"a": "b"}
    assert restored({"a": "b", HASH: "new"}) == {"a": "b", HASH: "new"}
