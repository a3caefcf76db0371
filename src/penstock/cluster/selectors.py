"""Label and field selectors, as Kubernetes reads them, parsed once into matchers.

The grammar and the refusals are the API server's own (apimachinery's `labels.Parse`), so a selector that works here
works there: `app=x, tier in (a,b), env notin (dev), size > 3, gpu, !old`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from penstock.api.objects import Json
from penstock.cluster.errors import Refused

Labels = Mapping[str, str]
Matcher = Callable[[Labels], bool]

_TOKEN = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)")
_SET_WORDS = {"in", "notin"}
_SYMBOLS = {"=", "==", "!=", "<", ">", "!", "(", ")", ","}
_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_FIELD = re.compile(r"([^=!]+)(==|!=|=)(.*)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Whether labels fulfil it; as in Kubernetes, `!=` and `notin` also hold where the label is missing."""
        return _HOLDS[self.operator](labels.get(self.key), self.values)


def _compares(value: str | None, bound: str, *, greater: bool) -> bool:
    if value is None or not re.fullmatch("[-+]?[0-9]+", value):
        return False
    return int(value) > int(bound) if greater else int(value) < int(bound)


_HOLDS: dict[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "exists": lambda value, _: value is not None,
    "!": lambda value, _: value is None,
    "in": lambda value, values: value in values,
    "notin": lambda value, values: value not in values,
    ">": lambda value, values: _compares(value, values[0], greater=True),
    "<": lambda value, values: _compares(value, values[0], greater=False),
}


@lru_cache(maxsize=4096)
def label_matcher(selector: str) -> Matcher:
    """The matcher of a label selector; an empty one matches everything."""
    return _all_of(_Parser(selector).requirements())


def object_matcher(selector: Json) -> Matcher:
    """The matcher of a LabelSelector object (`matchLabels`, `matchExpressions`), as budgets have it."""
    names = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    equal = [Requirement(key, "in", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    expressions: Sequence[Json] = selector.get("matchExpressions") or ()
    for operator in (one["operator"] for one in expressions if one["operator"] not in names):
        raise Refused(f'"{operator}" is not a valid label selector operator')
    more = [Requirement(one["key"], names[one["operator"]], tuple(one.get("values") or ())) for one in expressions]
    return _all_of([*equal, *more])


def _all_of(requirements: Sequence[Requirement]) -> Matcher:
    if len(requirements) == 1:
        return requirements[0].matches
    return lambda labels: all(requirement.matches(labels) for requirement in requirements)


class _Parser:
    """A selector's text, read from the left."""

    def __init__(self, text: str) -> None:
        self._words: list[str] = [*_TOKEN.findall(text), ""]
        self._at = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while self._word != "" or found:
            if self._word in _SYMBOLS - {"!"} or (found and self._word == ""):
                raise _refused(self._word, "identifier after ','" if found else "!, identifier, or 'end of string'")
            found.append(self._requirement())
            if self._word == "":
                break
            if (word := self._next()) != ",":
                raise _refused(word, "',' or 'end of string'")
        return found

    @property
    def _word(self) -> str:
        return self._words[self._at]

    def _next(self) -> str:
        word = self._word
        self._at += word != ""
        return word

    def _requirement(self) -> Requirement:
        if self._word == "!":
            self._next()
            return Requirement(self._key(), "!")
        key = self._key()
        if self._word in {"", ","}:
            return Requirement(key, "exists")
        operator = self._next()
        if operator in _SET_WORDS:
            return Requirement(key, operator, self._values(key))
        if operator not in _SYMBOLS - {"!", "(", ")"}:
            raise _unparsable(f"found '{operator}', expected: {_OPERATORS}")
        return _comparison(key, operator, self._exact_value(key))

    def _key(self) -> str:
        key = self._next()
        if key in _SYMBOLS or key == "":
            raise _unparsable(f"found '{key}', expected: identifier")
        prefix, slash, name = key.rpartition("/")
        if not name or not _VALUE.fullmatch(name) or (slash and not _PREFIX.fullmatch(prefix)):
            raise _unparsable(f'<nil>: Invalid value: "{key}": name part must consist of alphanumeric characters')
        return key

    def _values(self, key: str) -> tuple[str, ...]:
        if self._word != "(":
            raise _unparsable(f"found '{self._word}' expected: '('")
        self._next()
        values: list[str] = []
        while True:
            values.append(_valid("" if self._word in {",", ")"} else self._next(), key))
            closing = self._next()
            if closing == ")":
                return tuple(values)
            if closing != ",":
                raise _unparsable(f"found '{closing}', expected: ',' or ')'")

    def _exact_value(self, key: str) -> str:
        if self._word in {"", ","}:
            return ""
        value = self._next()
        if value in _SYMBOLS:
            raise _unparsable(f"found '{value}', expected: identifier")
        return _valid(value, key)


def _comparison(key: str, operator: str, value: str) -> Requirement:
    if operator in {"<", ">"} and not re.fullmatch("[-+]?[0-9]+", value):
        rule = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise _unparsable(f'values[0]: Invalid value: "{value}": {rule}')
    return Requirement(key, {"=": "in", "==": "in", "!=": "notin"}.get(operator, operator), (value,))


def _valid(value: str, key: str) -> str:
    if not _VALUE.fullmatch(value):
        rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"
        raise _unparsable(f'values[0][{key}]: Invalid value: "{value}": {rule}')
    return value


def _refused(found: str, expected: str) -> Refused:
    return Refused(f"found '{found}', expected: {expected}")


def _unparsable(message: str) -> Refused:
    return Refused(f"unable to parse requirement: {message}")


@lru_cache(maxsize=4096)
def field_matcher(selector: str, known: tuple[str, ...]) -> Matcher:
    """The matcher of a field selector (`metadata.name=x,spec.nodeName!=y`) over a map of the known fields."""
    terms = [term for term in selector.split(",") if term.strip()]
    return _all_of([_field_requirement(term, selector, known) for term in terms])


def _field_requirement(term: str, selector: str, known: tuple[str, ...]) -> Requirement:
    parsed = _FIELD.fullmatch(term)
    if parsed is None:
        raise Refused(f"invalid selector: '{selector}'; can't understand '{term}'")
    if parsed[1] not in known:
        only = ", ".join(f'"{name}"' for name in known)
        raise Refused(f'"{parsed[1]}" is not a known field selector: only {only}')
    return Requirement(parsed[1], "notin" if parsed[2] == "!=" else "in", (parsed[3],))
