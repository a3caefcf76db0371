"""Is an object right? One implementation, for `penstock validate` and for the reconcilers.

Shape first (the schema), then the rules that CEL holds in the cluster, then what only Slurm's language can tell.
All problems are found at once; an object with errors is never used in part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import msgspec

from penstock.api import shape
from penstock.api.checks import check_meaning
from penstock.api.crd import object_schema
from penstock.api.kinds import API_VERSION, BY_NAME, GROUP, Kind, KindInfo
from penstock.api.objects import Json
from penstock.api.problems import Problem, errors
from penstock.api.rules import RULES, TRANSITIONS
from penstock.api.scalars import ScalarError, decode_scalar
from penstock.api.spellings import normalised


@dataclass(frozen=True, slots=True)
class Verdict:
    """An object, if it can be used, and everything that is to be said about it."""

    kind: Kind | None
    problems: list[Problem]


class InvalidObject(ValueError):
    """An object that cannot be used; carries every reason."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems


def examine(value: Json) -> Verdict:
    """Decode an object of ours and say all that is wrong with it."""
    info = _info(value)
    if isinstance(info, Problem):
        return Verdict(None, [info])
    schema = _schema(info)
    value = shape.without_nulls(normalised(value), schema)
    problems = [*_metadata_problems(value), *shape.check(value, schema)]
    if errors(problems):
        return Verdict(None, problems)
    return _decoded(value, info, problems)


@cache
def _schema(info: KindInfo) -> Json:
    return object_schema(info)


def decode(value: Json) -> Kind:
    """The object, or `InvalidObject` with every reason."""
    verdict = examine(value)
    if verdict.kind is None:
        raise InvalidObject(errors(verdict.problems))
    return verdict.kind


def examine_change(old: Kind, new: Kind) -> list[Problem]:
    """What of a change the API server would refuse."""
    rules = TRANSITIONS[type(new)]
    return [
        Problem(path=("spec", *rule.field), message=rule.message)
        for rule in rules
        if not rule.holds(old.spec, new.spec)
    ]


def _info(value: Json) -> KindInfo | Problem:
    version, name = value.get("apiVersion"), value.get("kind")
    if version != API_VERSION:
        return Problem(path=("apiVersion",), message=f'is "{version}"', mend=f"write {API_VERSION}")
    if name not in BY_NAME:
        return Problem(path=("kind",), message=f'is "{name}"', mend=f"write one of {', '.join(BY_NAME)}")
    return BY_NAME[name]


def belongs_to_us(value: Json) -> bool:
    """Whether an object is of our group, whatever its version."""
    return str(value.get("apiVersion", "")).startswith(f"{GROUP}/")


def _metadata_problems(value: Json) -> Iterator[Problem]:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        yield Problem(path=("metadata", "name"), message="is missing", mend="give the object a name")
        return
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    for field in ("labels", "annotations"):
        if metadata.get(field) is not None:
            yield from shape.check(metadata[field], schema, ("metadata", field))


def _decoded(value: Json, info: KindInfo, problems: list[Problem]) -> Verdict:
    try:
        metadata = {key: field for key, field in value["metadata"].items() if field is not None}
        kind = msgspec.convert(value | {"metadata": metadata}, info.struct, dec_hook=decode_scalar)
    except (msgspec.ValidationError, ScalarError) as problem:
        return Verdict(None, [*problems, Problem(path=(), message=str(problem))])
    problems = [*problems, *_broken_rules(kind), *check_meaning(kind)]
    return Verdict(None if errors(problems) else kind, problems)


def _broken_rules(kind: Kind) -> Iterator[Problem]:
    for rule in RULES[type(kind)]:
        if not rule.holds(kind.spec):
            yield Problem(path=("spec", *rule.field), message=rule.message)
