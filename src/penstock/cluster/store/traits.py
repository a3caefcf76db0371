"""What the store must know about a resource before it takes an object of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from penstock.api.crd import object_schema
from penstock.api.kinds import GROUP, KINDS, KindInfo
from penstock.api.objects import Json
from penstock.cluster.store import builtin
from penstock.cluster.store.custom import Definition
from penstock.cluster.store.shapes import Fields, Shape, of_schema

_FIELDS = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How a resource behaves."""

    shape: Shape
    """Into which pieces its objects fall for server-side apply."""
    has_status: bool
    has_scale: bool
    has_generation: bool
    definition: Definition | None = None
    """For our own kinds."""
    status_at_birth: Json | None = None
    fields: tuple[str, ...] = _FIELDS
    """What a field selector may name."""


@cache
def traits_of(resource: str) -> Traits:
    """The traits of a resource by its full name: `pods`, `nodesets.slinky.slurm.net`."""
    ours = _OURS.get(resource)
    return _builtin(resource) if ours is None else _custom(ours)


_OURS = {f"{info.plural}.{GROUP}": info for info in KINDS}


def _builtin(resource: str) -> Traits:
    return Traits(
        shape=builtin.SHAPES.get(resource, builtin.OTHER_SHAPE),
        has_status=resource in builtin.WITH_STATUS,
        has_scale=resource in builtin.WITH_SCALE,
        has_generation=resource in builtin.WITH_GENERATION,
        status_at_birth=builtin.STATUS_AT_BIRTH.get(resource),
        fields=(*_FIELDS, *builtin.FIELD_SELECTORS.get(resource, ())),
    )


def _custom(info: KindInfo) -> Traits:
    schema = object_schema(info)
    described = {name: of_schema(part) for name, part in schema["properties"].items()}
    shape = Fields({**described, "metadata": builtin.METADATA})
    definition = Definition(info, schema)
    return Traits(shape=shape, has_status=True, has_scale=info.scales, has_generation=True, definition=definition)
