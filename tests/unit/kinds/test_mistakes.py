"""A mistake is told with its field, what is wrong and how to mend it; all of them at once."""

import pytest

from penstock.api.objects import Json
from penstock.api.problems import dotted
from penstock.api.validation import InvalidObject, decode, examine

from . import mistakes
from .builders import ABSENT, KEY, controller, errors_of, node_set, warnings_of

ALL = [*mistakes.TYPES, *mistakes.MEANING, *mistakes.FRAME]


@pytest.mark.parametrize(
    ("value", "field", "message", "mend"), ALL, ids=[f"{field} {message}" for _, field, message, _ in ALL]
)
def test_a_mistake_is_told_with_its_field_and_its_mend(value: Json, field: str, message: str, mend: str) -> None:
    """`penstock validate` and the reconcilers say the same words (NS-1)."""
    verdict = examine(value)
    assert verdict.kind is None
    [problem] = verdict.problems
    assert (dotted(problem.path), problem.message, problem.mend) == (field, message, mend)


def test_all_mistakes_are_told_at_once() -> None:
    wrong = node_set(
        controllerRef=ABSENT,
        replicas=-1,
        scalingMode="Job",
        partition={"enabled": "on", "config": "a\nb"},
        volumeClaimTemplates=[{"metadata": {}}, {"metadata": {"name": 5}}],
    )
    paths = [error.partition(":")[0] for error in errors_of(wrong)]
    assert sorted(paths) == [
        "spec.controllerRef",
        "spec.partition.config",
        "spec.partition.enabled",
        "spec.replicas",
        "spec.scalingMode",
        "spec.volumeClaimTemplates[0].metadata.name",
        "spec.volumeClaimTemplates[1].metadata.name",
    ]
    with pytest.raises(InvalidObject) as refusal:
        decode(wrong)
    assert len(refusal.value.problems) == len(paths)
    assert all(path in str(refusal.value) for path in paths)


def test_a_key_of_a_list_that_is_no_text_is_told_as_such() -> None:
    """And not compared with the others, which would be meaningless."""
    twice = [{"name": ["a"], "nodeSets": ["gpu"]}] * 2
    assert errors_of(controller(partitions=twice)) == [
        "spec.partitions[0].name: is a list; write text",
        "spec.partitions[1].name: is a list; write text",
    ]


def test_all_wrong_settings_of_a_partition_are_told_at_once() -> None:
    told = errors_of(node_set(partition={"config": "Nodes=a MaxTime=24h DefaultTime=soon"}))
    assert len(told) == 3
    assert [
        word for word, error in zip(("Nodes", "MaxTime", "DefaultTime"), told, strict=True) if word not in error
    ] == []


def test_a_text_cannot_break_the_line_that_quotes_it() -> None:
    [told] = errors_of(node_set(scalingMode="a\nerror: fake\x1b[2J" + "x" * 200))
    assert told.isprintable()
    assert r"a\nerror: fake\x1b[2J" in told
    assert len(told) < 200


@pytest.mark.parametrize(
    ("spec", "field", "mend"),
    [
        ({"replica": 3}, "spec.replica", "did you mean replicas?"),
        ({"scalingmode": "DaemonSet"}, "spec.scalingmode", "did you mean scalingMode?"),
        ({"partition": {"enable": True}}, "spec.partition.enable", "did you mean enabled?"),
        (
            {"volumeClaimTemplates": [{"metadata": {"name": "a"}, "spec": {"accessMode": ["x"]}}]},
            "spec.volumeClaimTemplates[0].spec.accessMode",
            "did you mean accessModes?",
        ),
        ({"colour": "red"}, "spec.colour", "the API server drops it; take it out"),
    ],
)
def test_a_misspelt_field_is_a_warning_with_the_right_spelling(spec: Json, field: str, mend: str) -> None:
    """The API server would drop it without a word."""
    value = node_set(**spec)
    assert warnings_of(value) == [f"{field}: is not a field we know; {mend}"]
    assert examine(value).kind is not None


def test_a_misspelt_metadata_field_is_a_warning() -> None:
    value = node_set()
    value["metadata"]["lables"] = {}
    assert warnings_of(value) == ["metadata.lables: is not a field we know; did you mean labels?"]


def test_deprecated_and_dangerous_fields_are_warnings() -> None:
    value = controller(jwtHs256KeyRef=KEY, service={"spec": {"externalIPs": ["192.0.2.1"]}})
    assert warnings_of(value) == [
        "spec.jwtHs256KeyRef: is deprecated; write jwtKeyRef with the same content",
        "spec.service.spec.externalIPs: is dropped (CVE-2020-8554); use a LoadBalancer",
    ]


@pytest.mark.parametrize("status", [{"replicas": 5, "slurmIdle": 3}, {"replicas": "five"}, 5, {"conditions": [{}]}])
def test_a_status_in_a_manifest_does_not_count(status: object) -> None:
    """The seeds show one, and backups have them; the API server drops it."""
    value = node_set() | {"status": status}
    assert warnings_of(value) == ["status: is not as the operator writes it and is left aside; take it out"]
    assert decode(value) == decode(node_set())
