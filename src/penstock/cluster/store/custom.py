"""Our own kinds on their way in: pruned, defaulted and checked by schema and rules, as the API server does it.

`api.validation.examine` is stricter and kinder than an API server (it also knows Slurm's language, and leaves a bad
status aside); reconcilers have to live with whatever an API server lets through, so only its part is held here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.api import shape
from penstock.api.kinds import Kind, KindInfo
from penstock.api.objects import Json
from penstock.api.problems import Problem, errors
from penstock.api.rules import RULES
from penstock.api.scalars import decode_scalar
from penstock.api.spellings import normalised
from penstock.api.validation import examine_change


@dataclass(frozen=True, slots=True)
class Definition:
    """A kind of ours, as its CustomResourceDefinition tells an API server."""

    info: KindInfo
    schema: Json

    def conformed(self, value: Json, before: Json | None = None) -> Json:
        """The object without fields that its schema does not know, and with the defaults of those it does.

        What is the same as before was made so then: a status is written far more often than a spec.
        """
        same = {name: part for name, part in value.items() if before is not None and part is before.get(name)}
        rest = {name: part for name, part in value.items() if name not in same}
        body: Json = _conformed(shape.without_nulls({**rest, "metadata": {}}, self.schema), self.schema)
        return {**body, **same, "metadata": value["metadata"]}

    def problems(self, new: Json, old: Json | None) -> list[Problem]:
        """Why an API server would refuse the object, or the change to it."""
        if old is not None and new.get("spec") is old.get("spec"):
            schema = self.schema["properties"]["status"]
            return errors(list(shape.check(new["status"], schema, ("status",)))) if "status" in new else []
        found = errors(list(shape.check({**new, "metadata": {}}, self.schema)))
        kind, before = None if found else _decoded(self.info, new), _decoded(self.info, old)
        if kind is None:
            return found
        broken = [rule for rule in RULES[self.info.struct] if not rule.holds(kind.spec)]
        found = [Problem.of(("spec", *rule.field), rule.message) for rule in broken]
        return found + (examine_change(before, kind) if before is not None else [])


def _conformed(value: Any, schema: Json) -> Any:
    if isinstance(value, list) and "items" in schema:
        return [_conformed(item, schema["items"]) for item in value]
    if not isinstance(value, dict) or schema.get("type") != "object":
        return value
    if "additionalProperties" in schema:
        return {name: _conformed(part, schema["additionalProperties"]) for name, part in value.items()}
    known, raw = schema.get("properties", {}), schema.get("x-kubernetes-preserve-unknown-fields", False)
    kept = {
        name: _conformed(part, known.get(name, {})) if isinstance(part, dict | list) else part
        for name, part in value.items()
        if raw or name in known
    }
    return kept | {name: part["default"] for name, part in known.items() if "default" in part and name not in kept}


def _decoded(info: KindInfo, value: Json | None) -> Kind | None:
    """The object for the rules to look at; None for the little that passes the schema and still is no such object."""
    try:
        return None if value is None else msgspec.convert(normalised(value), info.struct, dec_hook=decode_scalar)
    except msgspec.ValidationError:
        return None
