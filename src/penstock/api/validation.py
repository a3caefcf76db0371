"""Is an object right? One implementation, for `penstock validate` and for the reconcilers.

Shape first (the schema), then the rules that CEL holds in the cluster, then what only Slurm's language can tell.
All problems are found at once; an object with errors is never used in part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import msgspec

from penstock.api import metadata, shape
from penstock.api.checks import check_meaning
from penstock.api.crd import object_schema
from penstock.api.kinds import API_VERSION, BY_NAME, GROUP, Kind, KindInfo
from penstock.api.objects import Json
from penstock.api.problems import Problem, Severity, dotted, errors, quoted
from penstock.api.rule import Rule, Transition
from penstock.api.rules import RULES, TRANSITIONS
from penstock.api.scalars import decode_scalar
from penstock.api.spellings import normalised

_TYPE_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a map",
    "null": "empty",
}


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
    value = {"metadata": {}, "spec": {}} | shape.without_nulls(normalised(value), schema)
    value, problems = _without_bad_status(value, schema)
    problems += shape.check(value, schema)
    if isinstance(value["metadata"], dict):
        problems += metadata.check_keys(value["metadata"])
    if errors(problems):
        return Verdict(None, problems)
    return _decoded(value, info, problems)


@cache
def _schema(info: KindInfo) -> Json:
    schema = object_schema(info)
    schema["properties"]["metadata"] = metadata.SCHEMA
    return schema


def _without_bad_status(value: Json, schema: Json) -> tuple[Json, list[Problem]]:
    """A status in a manifest does not count, so it cannot spoil the object: the API server drops it as well."""
    problems = list(shape.check(value["status"], schema["properties"]["status"])) if "status" in value else []
    if not errors(problems):
        return value, []
    aside = Problem(
        path=("status",),
        message="is not as the operator writes it and is left aside",
        mend="take it out",
        severity=Severity.WARNING,
    )
    return {key: field for key, field in value.items() if key != "status"}, [aside]


def decode(value: Json) -> Kind:
    """The object, or `InvalidObject` with every reason."""
    verdict = examine(value)
    if verdict.kind is None:
        raise InvalidObject(errors(verdict.problems))
    return verdict.kind


def examine_change(old: Kind, new: Kind) -> list[Problem]:
    """What of a change the API server would refuse."""
    rules = TRANSITIONS[type(new)]
    return [_broken(rule) for rule in rules if not rule.holds(old.spec, new.spec)]


def _info(value: Json) -> KindInfo | Problem:
    version, name = value.get("apiVersion"), value.get("kind")
    if version != API_VERSION:
        return Problem(path=("apiVersion",), message=f"is {quoted(str(version))}", mend=f"write {API_VERSION}")
    if not isinstance(name, str) or name not in BY_NAME:
        same = [one for one in BY_NAME if one.lower() == str(name).lower()]
        mend = f"write {same[0]}" if same else f"write one of {', '.join(BY_NAME)}"
        return Problem(path=("kind",), message=f"is {quoted(str(name))}", mend=mend)
    return BY_NAME[name]


def belongs_to_us(value: Json) -> bool:
    """Whether an object is of our group, whatever its version."""
    return str(value.get("apiVersion", "")).startswith(f"{GROUP}/")


def _decoded(value: Json, info: KindInfo, problems: list[Problem]) -> Verdict:
    try:
        kind = msgspec.convert(value, info.struct, dec_hook=decode_scalar)
    except msgspec.ValidationError as problem:
        return Verdict(None, [*problems, _undecodable(str(problem))])
    problems = [*problems, *_broken_rules(kind), *check_meaning(kind)]
    return Verdict(None if errors(problems) else kind, problems)


def _undecodable(told: str) -> Problem:
    """What msgspec says about the few things that a schema cannot hold, in our words."""
    message, _, place = told.partition(" - at `$")
    steps = re.findall(r"\.([^.\[]+)|\[([0-9]+)\]", place.replace("[...]", "").rstrip("`"))
    path = tuple(name or int(index) for name, index in steps)
    types = re.fullmatch(r"Expected `(.+)`, got `(.+)`", message)
    if types:
        wanted = " or ".join(_TYPE_WORDS.get(one, one) for one in types[1].split(" | "))
        verb = "holds" if "[...]" in place else "is"
        message = f"{verb} {_TYPE_WORDS.get(types[2], types[2])}; write {wanted}"
    return Problem.of(path, message)


def _broken_rules(kind: Kind) -> Iterator[Problem]:
    for rule in RULES[type(kind)]:
        if not rule.holds(kind.spec):
            yield _broken(rule)


def _broken(rule: Rule | Transition) -> Problem:
    # For the API server the message names the field; here the path does, and once is enough.
    sentence = rule.message.removeprefix(f"{dotted(rule.field)} ").removeprefix(f"{rule.field[-1]} ")
    return Problem.of(("spec", *rule.field), sentence)
