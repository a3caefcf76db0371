"""What a person states about a pod wins, and nothing of it is lost (bar of issue 3; NS-1, NS-10, ST-2)."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.objects import Json
from penstock.render.merge import merge
from penstock.slurm.conf import ConfError

KEYED = {"containers", "initContainers", "env", "ports", "volumeMounts", "volumes", "imagePullSecrets", "hostAliases"}
quick = settings(max_examples=50, deadline=None)

names = st.sampled_from(["a", "b", "c"])
numbers = st.sampled_from([0, 1, 22, 6818])
scalars = st.none() | st.booleans() | numbers | st.sampled_from(["", "x", "y"])
anything: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2), max_leaves=4
)


def maps(required: dict[str, Any] | None = None, **optional: Any) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(required or {}, optional={name: st.none() | kind for name, kind in optional.items()})


words = st.lists(st.sampled_from(["-v", "-D", ""]), max_size=2)
probes = maps(httpGet=maps(port=names), tcpSocket=maps(port=numbers), exec=maps(command=words), periodSeconds=numbers)
containers = maps(
    {"name": names},
    image=names,
    args=words,
    command=words,
    env=st.lists(maps({"name": names}, value=st.sampled_from(["", "1"]), valueFrom=maps(fieldRef=maps())), max_size=2),
    ports=st.lists(maps({"containerPort": numbers}, name=names, protocol=st.sampled_from(["TCP", "UDP"])), max_size=3),
    volumeMounts=st.lists(maps({"name": names, "mountPath": names}, readOnly=st.booleans()), max_size=3),
    readinessProbe=probes,
    lifecycle=maps(preStop=probes),
    securityContext=maps(privileged=st.booleans(), capabilities=maps(add=words, drop=words)),
    somethingNew=anything.filter(lambda value: not isinstance(value, dict | list)) | maps(deep=anything),
)
pods = maps(
    containers=st.lists(containers, max_size=2),
    initContainers=st.lists(containers, max_size=2),
    volumes=st.lists(maps({"name": names}, emptyDir=maps(medium=names), hostPath=maps(path=names)), max_size=2),
    tolerations=st.lists(maps(key=names, operator=names), max_size=2),
    hostNetwork=st.booleans(),
    nodeSelector=st.dictionaries(names, names, max_size=2),
)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def is_in(stated: Any, result: Any, field: str = "") -> bool:
    """Whether all that is stated stands in the result at its place."""
    if isinstance(stated, dict):
        kept = {key: value for key, value in stated.items() if value is not None}
        return isinstance(result, dict) and all(
            key in result and is_in(value, result[key], key) for key, value in kept.items()
        )
    if isinstance(stated, list) and field == "args":
        return bool(result[len(result) - len(stated) :] == stated)
    if isinstance(stated, list) and field in KEYED and stated:
        places = [[n for n, item in enumerate(result) if is_in(wanted, item)] for wanted in stated]
        return _can_be_seated(places, frozenset())
    return bool(result == without_nulls(stated))


def _can_be_seated(places: list[list[int]], taken: frozenset[int]) -> bool:
    """Whether every item has a place of its own."""
    if not places:
        return True
    return any(_can_be_seated(places[1:], taken | {place}) for place in places[0] if place not in taken)


@given(ours=pods, theirs=pods)
@quick
def test_no_merge_loses_what_a_person_states(ours: Json, theirs: Json) -> None:
    """Bar of issue 3: every leaf but nulls is in the result, also 0, false, "" and [], and args come behind ours."""
    assert is_in(theirs, merge(without_nulls(ours), theirs))


@given(ours=pods)
@quick
def test_merging_nothing_changes_nothing(ours: Json) -> None:
    """NS-1: a CR that says nothing about the pod gets ours."""
    assert merge(without_nulls(ours), {}) == without_nulls(ours)
    assert merge({}, ours) == without_nulls(ours)


def _said_twice(value: Any, field: str = "") -> bool:
    """Whether args are appended, or two items of a list speak of the same thing."""
    if isinstance(value, dict):
        return bool(value.get("args")) or any(_said_twice(item, key) for key, item in value.items())
    if isinstance(value, list):
        idents = [item.get("name", item.get("containerPort")) for item in value if isinstance(item, dict)]
        paths = [item.get("mountPath", item.get("containerPort")) for item in value if isinstance(item, dict)]
        repeated = field in KEYED and (len(set(idents)) < len(idents) or len(set(paths)) < len(paths))
        return repeated or any(_said_twice(item, field) for item in value)
    return False


@given(ours=pods, theirs=pods)
@quick
def test_saying_it_twice_changes_nothing(ours: Json, theirs: Json) -> None:
    """NS-1: a merged pod is what the person wants already, but for args, which are appended."""
    once = merge(without_nulls(ours), theirs)
    if not _said_twice(without_nulls(theirs)) and not _said_twice(without_nulls(ours)):
        assert merge(once, theirs) == once


def bodies(value: Any) -> Iterator[int]:
    """The identities of all maps and lists inside."""
    if isinstance(value, dict | list):
        yield id(value)
        for item in value.values() if isinstance(value, dict) else value:
            yield from bodies(item)


@given(ours=pods, theirs=pods)
@quick
def test_the_result_shares_nothing_with_what_it_was_made_of(ours: Json, theirs: Json) -> None:
    """NS-1: inputs stay as they were, and whoever changes a pod changes neither the CR nor a constant of ours."""
    before = copy.deepcopy((ours, theirs))
    result = merge(ours, theirs)
    assert (ours, theirs) == before
    found = list(bodies(result))
    assert len(found) == len(set(found))
    assert not set(found) & {*bodies(ours), *bodies(theirs)}


@pytest.mark.parametrize("value", [False, 0, "", [], 0.0])
def test_an_empty_value_is_a_value(value: object) -> None:
    """NS-10: Slinky drops these, so `privileged: false` could never be said."""
    ours: Json = {"field": [1] if value == [] else "ours", "other": 1}
    assert merge(ours, {"field": value}) == {"field": value, "other": 1}


def test_null_takes_our_value_away() -> None:
    """NS-10: as in any Kubernetes patch; what was not there is not missed."""
    ours = {"a": 1, "b": {"c": 2, "d": 3}}
    assert merge(ours, {"a": None, "b": {"c": None}, "e": None, "f": {"g": None}}) == {"b": {"d": 3}, "f": {}}


def by_name(key: str, ours: list[Json], theirs: list[Json]) -> Any:
    return merge({key: ours}, {key: theirs})[key]


def test_containers_find_each_other_by_name() -> None:
    """NS-1: Slinky appends a second container of that name, which the API server refuses."""
    ours = [{"name": "slurmd", "image": "i", "args": ["-Z"]}]
    theirs: list[Json] = [{"name": "dcgm"}, {"name": "slurmd", "args": ["-v"]}]
    assert by_name("containers", ours, theirs) == [
        {"name": "slurmd", "image": "i", "args": ["-Z", "-v"]},
        {"name": "dcgm"},
    ]


def test_a_variable_has_one_value() -> None:
    """NS-1: `value` and `valueFrom` exclude each other; other variables stay."""
    ours: list[Json] = [{"name": "A", "valueFrom": {"fieldRef": {}}}, {"name": "B", "value": "1"}]
    assert by_name("env", ours, [{"name": "A", "value": ""}]) == [
        {"name": "A", "value": ""},
        {"name": "B", "value": "1"},
    ]


def test_mounts_find_each_other_by_path_not_by_volume() -> None:
    """ST-2: one volume may be mounted twice, a path is mounted once."""
    ours = [{"name": "etc", "mountPath": "/etc/slurm", "readOnly": True}]
    theirs = [{"name": "etc", "mountPath": "/other"}, {"name": "mine", "mountPath": "/etc/slurm"}]
    assert by_name("volumeMounts", ours, theirs) == [
        {"name": "mine", "mountPath": "/etc/slurm", "readOnly": True},
        {"name": "etc", "mountPath": "/other"},
    ]


def test_a_volume_has_one_source() -> None:
    """ST-2: a volume of that name replaces ours whole."""
    ours = [{"name": "run", "emptyDir": {"medium": "Memory"}}]
    assert by_name("volumes", ours, [{"name": "run", "hostPath": {"path": "/run"}}]) == [
        {"name": "run", "hostPath": {"path": "/run"}}
    ]


@pytest.mark.parametrize(
    ("theirs", "result"),
    [
        ([{"name": "slurmd", "containerPort": 7000}], [{"name": "slurmd", "containerPort": 7000}]),
        ([{"containerPort": 6818, "hostPort": 6818}], [{"name": "slurmd", "containerPort": 6818, "hostPort": 6818}]),
        (
            [{"containerPort": 6818, "hostPort": 1}, {"containerPort": 6818, "protocol": "UDP"}],
            [
                {"name": "slurmd", "containerPort": 6818, "hostPort": 1},
                {"containerPort": 6818, "protocol": "UDP"},
            ],
        ),
        (
            [{"name": "x", "containerPort": 53, "protocol": "UDP"}, {"name": "y", "containerPort": 53}],
            [
                {"name": "slurmd", "containerPort": 6818},
                {"name": "x", "containerPort": 53, "protocol": "UDP"},
                {"name": "y", "containerPort": 53},
            ],
        ),
    ],
)
def test_ports_find_each_other_by_name_then_by_number(theirs: list[Json], result: list[Json]) -> None:
    """NS-1: and two of a person's own never meet, for one number may serve TCP and UDP."""
    assert by_name("ports", [{"name": "slurmd", "containerPort": 6818}], theirs) == result


@pytest.mark.parametrize("field", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_a_probe_has_one_handler(field: str) -> None:
    """NS-1: theirs replaces ours, the other fields are merged; thresholds alone keep our handler."""
    ours = {field: {"httpGet": {"path": "/livez"}, "periodSeconds": 10}}
    assert merge(ours, {field: {"exec": {"command": ["true"]}}})[field] == {
        "exec": {"command": ["true"]},
        "periodSeconds": 10,
    }
    assert merge(ours, {field: {"failureThreshold": 3, "exec": None}})[field] == {
        "httpGet": {"path": "/livez"},
        "periodSeconds": 10,
        "failureThreshold": 3,
    }


def test_a_hook_has_one_handler() -> None:
    """NS-1: preStop is ours to set and theirs to replace; postStart stands beside it."""
    ours: Json = {"lifecycle": {"preStop": {"exec": {"command": ["scontrol"]}}}}
    theirs: Json = {"lifecycle": {"preStop": {"sleep": {"seconds": 5}}, "postStart": {"exec": {"command": ["x"]}}}}
    assert merge(ours, theirs) == theirs


def test_lists_without_a_key_are_theirs() -> None:
    """NS-1, facts 3.1.1: tolerations, capabilities and commands are replaced as a whole."""
    ours = {"tolerations": [{"key": "a"}], "command": ["a"], "securityContext": {"capabilities": {"add": ["A"]}}}
    theirs = {"tolerations": [{"key": "b"}], "command": ["b"], "securityContext": {"capabilities": {"add": ["B"]}}}
    assert merge(ours, theirs) == theirs


@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        ({"ports": {"name": "x"}}, "ports is {'name': 'x'}, not a list"),
        ({"securityContext": True}, "securityContext is True, not a map"),
        ({"args": "-v"}, "args is '-v', not a list"),
    ],
)
def test_a_wrong_shape_is_told(theirs: Json, told: str) -> None:
    """NS-1: nobody has checked raw containers before; a person is told the field, not shown a traceback."""
    with pytest.raises(ConfError, match=told):
        merge({"ports": [], "securityContext": {}, "args": []}, theirs)
