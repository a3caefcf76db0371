"""Rendering has an answer for every valid object, always the same one, and nobody can spoil it (PT-1, NS-1)."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.api.crosscheck import crosscheck
from penstock.api.kinds import API_VERSION, Kind
from penstock.api.objects import Json
from penstock.api.problems import Severity
from penstock.api.schema import encode
from penstock.api.validation import decode
from penstock.render.everything import Rendered
from penstock.slurm.conf import ConfError

from .builders import accounting, everything, login_set, node_set, rendered, rest_api, slinky_everything, token
from .spec_strategies import kinds

MAPS = {"a": {"x.sh": "1", "gres.conf": "2"}, "gpu": {"y.sh": "", "cgroup.conf": "CgroupPlugin=disabled"}, "1Gi": {}}
ORDINARY = [
    *everything(), node_set("other", partition={"enabled": True}), accounting("a2"), login_set("l2"), rest_api("r2"),
    token("t2"),
]  # fmt: skip
KINDS = ["Controller", "Accounting", "NodeSet", "LoginSet", "RestApi", "Token"]


@st.composite
def clusters(draw: st.DrawFn, kind: str) -> list[Kind]:
    """Draw one object of a kind freely, into a cluster of ordinary ones, as far as it fits there."""
    stand_in = next(each for each in ORDINARY if each.kind == kind)
    made = [draw(kinds(kind, stand_in.metadata.name)), *(each for each in ORDINARY if each is not stand_in)]
    known = {("hpc", name): files for name, files in MAPS.items()}
    assume(not any(problem.severity is Severity.ERROR for _, problem in crosscheck(made, known)))
    return made


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_every_valid_object_is_rendered_or_refused_with_a_word(kind: str, data: st.DataObject) -> None:
    """NS-1: no traceback for anything that validation lets through; and no two objects of one name."""
    made = data.draw(clusters(kind))
    result = rendered_or_told(made)
    if isinstance(result, str):
        assert any(f'{each.kind} "{each.metadata.name}"' in result for each in made)
        return
    identities = [identity(each) for each in result.manifests]
    assert len(identities) == len(set(identities))
    assert json.loads(json.dumps(result.manifests)) == result.manifests


def rendered_or_told(made: list[Kind]) -> Rendered | str:
    try:
        return rendered(*made, config_maps=MAPS)
    except ConfError as problem:
        return str(problem)


def identity(manifest: Json) -> tuple[str, ...]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata["namespace"], metadata.get("name") or metadata["generateName"]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), seed=st.integers(0, 2**16))
@settings(max_examples=12, deadline=None)
def test_the_order_in_which_things_were_found_changes_nothing(kind: str, data: st.DataObject, seed: int) -> None:
    """PT-1: objects, ConfigMaps and the keys of every map in another order give the same bytes in every file."""
    shuffle = random.Random(seed)  # noqa: S311
    made = data.draw(clusters(kind))
    before = rendered_or_told(made)
    if isinstance(before, str):
        return
    others = shuffle.sample([turned(made[0], shuffle), *made[1:]], len(made))
    maps = dict(shuffle.sample(list(MAPS.items()), len(MAPS)))
    assert_same(before, rendered(*others, config_maps=maps))


def assert_same(one: Rendered, other: Rendered) -> None:
    assert list(one.files.items()) == list(other.files.items())
    assert one.manifests == other.manifests
    assert one.notes == other.notes


def turned(kind: Kind, shuffle: random.Random) -> Kind:
    """Give the same object, with the keys of all its maps in another order."""
    metadata = {"name": kind.metadata.name, "namespace": kind.metadata.namespace}
    body = {"apiVersion": API_VERSION, "kind": kind.kind, "metadata": metadata, "spec": encode(kind.spec)}
    return decode(shuffled(body, shuffle))


def shuffled(value: Any, shuffle: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: shuffled(value[key], shuffle) for key in shuffle.sample(list(value), len(value))}
    return [shuffled(item, shuffle) for item in value] if isinstance(value, list) else value


def bodies(value: Any) -> Iterator[Any]:
    """All maps and lists inside."""
    if isinstance(value, dict | list):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from bodies(item)


def test_whoever_changes_a_rendered_object_changes_nothing_else() -> None:
    """NS-1: reconcilers add to what was rendered; the kinds, our constants and the other objects must not notice."""
    for made in (everything(), slinky_everything(), everything(slurmd={"securityContext": {"privileged": False}})):
        specs = copy.deepcopy([encode(each) for each in made])
        first = rendered(*made)
        kept = copy.deepcopy(first)
        found = [id(body) for body in bodies(first.manifests)]
        assert len(found) == len(set(found))
        for body in list(bodies(first.manifests)):
            body.clear()
        assert [encode(each) for each in made] == specs
        assert_same(rendered(*made), kept)
