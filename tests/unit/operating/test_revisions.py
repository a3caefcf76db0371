"""Revisions of a NodeSet are kept, found again by what is in them, and followed (NS-5)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from tests.unit.rendering.builders import SSSD, cluster, node_set
from tests.unit.rendering.spec_strategies import kinds

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.api.schema import encode
from penstock.operator.nodeset.course import Course, Unpinnable, course, pinned, with_parts
from penstock.operator.nodeset.revision import HASH, PARTS, parts, revision
from penstock.operator.nodeset.revisions import (
    KEPT,
    as_newest,
    asked_for,
    body,
    hash_of,
    lined_up,
    parts_in,
    surplus,
    taken_over,
)
from penstock.operator.resources import Revision
from penstock.render import labels, worker
from penstock.render.labels import CHANGE_CAUSE, PIN
from penstock.render.seat import seat

from .workers import pod

node_sets = kinds("NodeSet", "n")


def image(tag: int, **annotations: str) -> NodeSet:
    """A NodeSet whose template is told by a number."""
    return node_set("n", slurmd={"image": f"slurm:{tag}"}, metadata={"uid": "of-n", "annotations": annotations})


def kept(made: NodeSet, number: int, **fields: Any) -> Revision:
    """A revision as the cluster gives it back: through JSON."""
    written = body(made, number)
    about = {"uid": f"uid-{number}", "resourceVersion": "1", "creationTimestamp": f"2026-11-16T08:00:{number:02}Z"}
    whole = {**written, "metadata": written["metadata"] | about, **fields}
    return msgspec.json.decode(msgspec.json.encode(whole), type=Revision)


def slinkys(tag: int, number: int = 1, **metadata: Any) -> Revision:
    """A revision as Slinky keeps it: a patch, with Go's empty fields, and none of the labels that it looks for."""
    template = {"$patch": "replace", "metadata": {"creationTimestamp": None}, "spec": {"containers": None}}
    spec = {
        "template": template, "ordinalPadding": 0, "oversubscribeNode": False, "extraConf": "",
        "slurmd": {"name": "", "image": f"slurm:{tag}", "resources": {}}, "logfile": {"name": "", "resources": {}},
    }  # fmt: skip
    owner = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "name": "n", "uid": "of-n"}
    about = {
        "name": f"n-go{tag}", "namespace": "hpc", "uid": f"go-{tag}", "resourceVersion": "1",
        "creationTimestamp": f"2026-11-15T08:00:{tag:02}Z", "labels": {HASH: f"go{tag}"},
        "ownerReferences": [{**owner, "controller": True}],
    }  # fmt: skip
    return msgspec.convert({"metadata": about | metadata, "data": {"spec": spec}, "revision": number}, Revision)


@given(node_sets, node_sets)
@settings(max_examples=60, deadline=None)
def test_a_revision_brings_back_all_that_it_was_made_from(then: NodeSet, now: NodeSet) -> None:
    """And nothing else: what is no part of it stays as the NodeSet has it now."""
    back = with_parts(now, parts_in(kept(then, 1)))
    assume(back is not None)  # else the rest of the spec does not go with it, which is told
    assert back is not None
    assert parts(back) == parts(then)
    rest = [{name: value for name, value in encode(one.spec).items() if name not in PARTS} for one in (back, now)]
    assert rest[0] == rest[1]


@given(node_sets)
@settings(max_examples=60, deadline=None)
def test_a_kept_revision_is_found_again_with_its_hash(made: NodeSet) -> None:
    one = kept(made, 3)
    found = asked_for(made, [kept(image(1), 1), one])
    assert found == one
    assert hash_of(one) == revision(made)
    assert with_parts(made, parts_in(one)) == made


def test_what_people_wrote_as_null_or_empty_is_kept() -> None:
    """There `null` takes away what we make, and an empty list is not the same as none."""
    odd: Json = {"livenessProbe": None, "env": [], "securityContext": {}, "workingDir": ""}
    made = node_set("n", slurmd=odd)
    assert parts_in(kept(made, 1)) == {"slurmd": odd}
    assert asked_for(node_set("n"), [kept(made, 1)]) is None


def test_a_truth_is_no_number() -> None:
    """In Python they are equal."""
    made = [node_set("n", slurmd={"tty": value}) for value in (True, 1)]
    assert asked_for(made[0], [kept(made[1], 1)]) is None


def test_a_new_penstock_replaces_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes pods otherwise, and reckons hashes otherwise: workers of the kept revision are still the newest."""
    made = image(1)
    before, old = worker.pod(cluster(made), made, seat(made, 0)), kept(made, 1)
    real = labels.component
    monkeypatch.setattr(labels, "component", lambda app, owner: real(app, owner) | {"new": "label"})
    monkeypatch.setattr("penstock.operator.nodeset.revision.digest", lambda _some, **_: "otherwise")
    assert worker.pod(cluster(made), made, seat(made, 0)) != before, "else this proves nothing"
    assert revision(made) == "otherwise"
    found = course(made, [old], [])
    assert found.newest == hash_of(old) != "otherwise"


def test_what_is_said_of_revisions_is_not_passed_on_to_workers() -> None:
    """They inherit the annotations of their NodeSet; but not these, which are about it."""
    made = image(1, **{PIN: "1", CHANGE_CAUSE: "because", "note": "for all"})
    annotations = worker.pod(cluster(made), made, seat(made, 0))["metadata"]["annotations"]
    assert annotations["note"] == "for all"
    assert annotations.keys().isdisjoint({PIN, CHANGE_CAUSE})


def test_a_new_revision_has_the_labels_to_find_it_by_and_belongs_to_its_node_set() -> None:
    made = image(1, **{CHANGE_CAUSE: "because"})
    written = body(made, 4)["metadata"]
    assert written["name"] == f"n-{revision(made)}"
    assert labels.component("slurmd", made).items() <= written["labels"].items()
    assert written["labels"][HASH] == revision(made)
    assert [(one["uid"], one["controller"]) for one in written["ownerReferences"]] == [("of-n", True)]
    assert written["annotations"] == {CHANGE_CAUSE: "because"}


def test_a_name_that_is_taken_makes_another_one() -> None:
    names = {body(image(1), 1, collisions=count)["metadata"]["name"] for count in range(5)}
    assert len(names) == 5


def test_a_revision_that_is_used_again_gets_the_highest_number() -> None:
    first, second = kept(image(1), 1), kept(image(2), 2)
    assert as_newest(image(1), first, [first, second]) == {"revision": 3}
    assert as_newest(image(2), second, [first, second]) == {}


def test_a_pin_by_number_keeps_the_number() -> None:
    """Somebody pinned revision 1, and then the spec went back to it as well."""
    first, second = kept(image(1), 1), kept(image(2), 2)
    assert as_newest(image(1, **{PIN: "1"}), first, [first, second]) == {}
    assert as_newest(image(1, **{PIN: hash_of(first)}), first, [first, second]) == {"revision": 3}


def test_why_a_revision_was_made_may_be_said_later() -> None:
    one = kept(image(1), 1)
    late = image(1, **{CHANGE_CAUSE: "I forgot to say"})
    assert as_newest(late, one, [one]) == {"metadata": {"annotations": {CHANGE_CAUSE: "I forgot to say"}}}


HISTORY = [kept(image(number), number) for number in range(1, 16)]


@pytest.mark.parametrize(
    ("limit", "used", "now", "gone"),
    [
        (0, [], 15, 14 - KEPT),
        (3, [], 15, 11),
        (20, [], 15, 0),
        (3, [1, 2], 15, 9),
        (1, [], 1, 13),
    ],
)
def test_old_revisions_go_the_oldest_first_and_never_one_that_is_in_use(
    limit: int, used: list[int], now: int, gone: int
) -> None:
    """0 is Slinky's default, which an API server writes for whoever says nothing: it keeps ten."""
    asks = node_set("n", slurmd={"image": f"slurm:{now}"}, revisionHistoryLimit=limit)
    found = surplus(asks, HISTORY, [hash_of(HISTORY[number - 1]) for number in used])
    free = [number for number in range(1, 16) if number not in [*used, now]]
    assert [one.revision for one in found] == free[:gone]


@pytest.mark.parametrize("word", ["2", hash_of(HISTORY[1])])
def test_a_pinned_revision_is_never_trimmed(word: str) -> None:
    asks = node_set("n", slurmd={"image": "slurm:15"}, revisionHistoryLimit=1, metadata={"annotations": {PIN: word}})
    assert 2 not in [one.revision for one in surplus(asks, HISTORY, [])]


def test_a_revision_of_slinkys_says_what_somebody_wrote() -> None:
    assert parts_in(slinkys(7)) == {"slurmd": {"image": "slurm:7"}}
    assert asked_for(image(7), [slinkys(6), slinkys(7)]) == slinkys(7)


def test_revisions_of_slinkys_are_taken_over_as_they_are() -> None:
    """They get the labels to find them by, a number of their own and our hash, and keep what they say."""
    patches = {
        one.metadata.name: taken_over(image(3), one, number) for one, number in lined_up([slinkys(2), slinkys(1)])
    }
    assert [*patches] == ["n-go2", "n-go1"], "the newest first, so that they are in order at every moment"
    assert "revision" not in patches["n-go1"]
    assert patches["n-go2"]["revision"] == 2
    for name, tag in (("n-go1", 1), ("n-go2", 2)):
        about = patches[name]["metadata"]
        assert about["labels"] == labels.component("slurmd", image(3)) | {HASH: revision(image(tag))}
        assert about.keys() == {"labels"}


def test_one_that_nobody_owns_gets_its_node_set_as_owner() -> None:
    lost = slinkys(1, ownerReferences=[{"kind": "ConfigMap", "name": "c", "uid": "c", "apiVersion": "v1"}])
    owners = taken_over(image(1), lost, 1)["metadata"]["ownerReferences"]
    assert [(one["uid"], one.get("controller", False)) for one in owners] == [("c", False), ("of-n", True)]


def test_what_is_ours_already_is_not_taken_over_again() -> None:
    assert taken_over(image(1), kept(image(1), 1), 1) == {}


def test_lines_that_rise_already_stay() -> None:
    """Also in the middle of it: each step leaves the same order."""
    three = [slinkys(1), slinkys(2), slinkys(3)]
    numbers = {one.metadata.name: number for one, number in lined_up(three)}
    assert numbers == {"n-go1": 1, "n-go2": 2, "n-go3": 3}
    for done in range(4):
        half = [slinkys(tag, numbers[f"n-go{tag}"] if tag > 3 - done else 1) for tag in (1, 2, 3)]
        assert {one.metadata.name: number for one, number in lined_up(half)} == numbers


@pytest.mark.parametrize("data", [None, [], "x", {}, {"spec": []}, {"spec": {"slurmd": "x"}}, {"spec": {"ssh": {}}}])
def test_what_cannot_be_read_is_left_alone(data: Any) -> None:
    odd = kept(image(1), 1, data=data)
    assert parts_in(odd) in (None, {})
    assert asked_for(image(1), [odd]) is None


def followed(made: NodeSet, *revisions: Revision, hashes: Json | None = None) -> Course:
    """The course of a NodeSet with so many workers of each hash."""
    pods = [
        pod(f"n-{name}-{one}", labels={HASH: name}) for name, count in (hashes or {}).items() for one in range(count)
    ]
    return course(made, revisions, pods)


def test_without_a_pin_workers_follow_the_spec() -> None:
    found = followed(image(2), kept(image(1), 1))
    assert (found.node_set, found.newest, found.rolls, found.makes) == (image(2), revision(image(2)), True, True)
    assert found.known == {revision(image(1))}


@pytest.mark.parametrize("word", ["1", " 1 ", revision(image(1))])
def test_a_pin_has_workers_follow_an_earlier_revision(word: str) -> None:
    """By its number or by its hash; the spec stays as it is."""
    now = image(2, **{PIN: word})
    found = followed(now, kept(image(1), 1), kept(image(2), 2))
    assert found.node_set.spec.slurmd == {"image": "slurm:1"}
    assert (found.node_set.metadata, found.newest) == (now.metadata, revision(image(1)))
    assert (found.rolls, found.makes, found.trouble) == (True, True, None)


def test_a_pin_that_names_nothing_says_what_there_is() -> None:
    revisions = [kept(image(1), 1), kept(image(2), 2)]
    with pytest.raises(Unpinnable) as told:
        pinned(image(2, **{PIN: "9"}), revisions)
    for one in revisions:
        assert f"{one.revision} ({hash_of(one)})" in str(told.value)
    assert "none yet" in str(followed(image(2, **{PIN: "9"})).trouble)


def test_a_pin_that_leads_nowhere_leaves_workers_as_they_are() -> None:
    """Nobody is replaced; whoever is missing is made as most of the others are."""
    revisions = [kept(image(number), number) for number in (1, 2, 3)]
    hashes = {hash_of(revisions[0]): 2, hash_of(revisions[1]): 1, "unheard": 9}
    found = followed(image(3, **{PIN: "77"}), *revisions, hashes=hashes)
    assert (found.rolls, found.makes) == (False, True)
    assert (found.newest, found.node_set.spec.slurmd) == (hash_of(revisions[0]), {"image": "slurm:1"})
    assert found.trouble is not None
    assert found.trouble.reason == "UnknownRevision"


def test_a_pin_that_leads_nowhere_and_no_worker_to_tell_makes_none() -> None:
    found = followed(image(3, **{PIN: "77"}), kept(image(1), 1))
    assert (found.rolls, found.makes) == (False, False)


def test_a_revision_that_does_not_go_with_the_spec_is_not_followed() -> None:
    """A name as long as names may be goes with a few workers, and not with millions."""
    then = node_set("n", template={"spec": {"hostname": "a" * 58}})
    now = node_set("n", replicas=2_000_000, metadata={"annotations": {PIN: "1"}})
    assert with_parts(now, parts_in(kept(then, 1))) is None, "else this proves nothing"
    found = followed(now, kept(then, 1))
    assert (found.rolls, found.makes) == (False, False)
    assert "does not go with the rest of the spec" in str(found.trouble)


def test_ssh_and_all_other_parts_come_back() -> None:
    then = node_set(
        "n", ssh={"enabled": True, "sssdConfRef": SSSD}, extraConf="Weight=5", ordinalPadding=3, logfile={"image": "l"},
        oversubscribeNode=True, imageContract="Slinky", template={"metadata": {"labels": {"a": "b"}}},
    )  # fmt: skip
    now = node_set("n", replicas=7, metadata={"annotations": {PIN: "1"}})
    found = followed(now, kept(then, 1))
    assert parts(found.node_set) == parts(then)
    assert found.node_set.spec.replicas == 7
