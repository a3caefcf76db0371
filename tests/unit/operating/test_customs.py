"""Our kinds as the API server holds them: decoded once per edit, and used whole or not at all."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.cluster.resources import Meta
from penstock.operator.customs import Decoder, Invalid
from penstock.operator.resources import Custom

SPEC: Json = {"controllerRef": {"name": "slurm"}, "replicas": 3}


def custom(spec: Json = SPEC, **metadata: Any) -> Custom:
    return Custom(
        metadata=Meta(**{"name": "n", "namespace": "hpc", "uid": "u", "generation": 1, **metadata}), spec=spec
    )


def test_an_object_is_decoded_with_what_rendering_needs_of_its_metadata() -> None:
    made = Decoder().decode("NodeSet", custom(labels={"a": "b"}, annotations={"c": "d"}, generation=7))
    assert isinstance(made, NodeSet)
    meta = made.metadata
    assert (meta.name, meta.namespace, meta.uid, meta.generation) == ("n", "hpc", "u", 7)
    assert (meta.labels, meta.annotations) == ({"a": "b"}, {"c": "d"})
    assert meta.deletion_timestamp is None
    assert made.spec.replicas == 3


def test_an_object_that_is_deleted_says_so() -> None:
    """PT-5: its partition is closed while its workers leave."""
    made = Decoder().decode("NodeSet", custom(deletion_timestamp="2026-11-16T08:00:00Z"))
    assert isinstance(made, NodeSet)
    assert made.metadata.deletion_timestamp == "2026-11-16T08:00:00Z"


def test_an_object_that_cannot_be_used_says_why() -> None:
    """All of it at once."""
    made = Decoder().decode("NodeSet", custom({**SPEC, "replicas": -1, "extraConf": "a\nb"}))
    assert isinstance(made, Invalid)
    assert "spec.replicas" in made.message
    assert "spec.extraConf" in made.message


@pytest.mark.parametrize(
    ("later", "again"),
    [
        (custom(), False),
        (custom(resource_version="9"), False),
        (msgspec.structs.replace(custom(), status={"replicas": 1}), False),
        (custom(generation=2), True),
        (custom(labels={"a": "b"}), True),
        (custom(annotations={"a": "b"}), True),
        (custom(deletion_timestamp="2026-11-16T08:00:00Z"), True),
        (custom(uid="another"), True),
    ],
)
def test_an_object_is_decoded_once_per_edit(later: Custom, again: bool) -> None:
    decoder = Decoder()
    assert (decoder.decode("NodeSet", later) is not decoder.decode("NodeSet", custom())) is again


def test_what_is_forgotten_is_decoded_again() -> None:
    decoder = Decoder()
    before = decoder.decode("NodeSet", custom())
    decoder.forget("u")
    assert decoder.decode("NodeSet", custom()) is not before
