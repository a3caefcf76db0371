"""Everything that happens in a world, line by line: to find out why, and to see that it is the same each time."""

from __future__ import annotations

from collections.abc import Callable

from penstock.api.objects import Json
from penstock.cluster.store.records import Change
from tests.simulation.loop import now
from tests.simulation.manifests import RESOURCES
from tests.simulation.port import ACTOR, LEASE
from tests.simulation.slurm_records import Node

from .stage import Stage

Tell = Callable[[str], None]
_NAMELESS = ("events.events.k8s.io",)
"""Their names are chance."""


def attach(stage: Stage, tell: Tell) -> None:
    """Tell of every change of an object, every word to Slurm, and every request."""
    for resource in RESOURCES.values():
        if resource.name != LEASE:
            stage.here.store.witness(resource.name, lambda change: tell(_object(change)))
    judged = stage.here.slurm.on_change

    def changes(node: Node, body: Json, who: str) -> None:
        tell(f"{now():9.3f}  {who} to Slurm: {node.name}: {body}; jobs {[*node.jobs]}")
        judged(node, body, who)

    stage.here.slurm.on_change = changes


def _object(change: Change) -> str:
    call, record = ACTOR.get(), change.after or change.before
    assert record is not None
    what = "made" if change.before is None else "gone" if change.after is None else "changed"
    if record.meta.deletion_timestamp is not None and what == "changed":
        what = "leaving"
    name = record.key.resource if record.key.resource in _NAMELESS else f"{record.key.resource} {record.key.name}"
    return f"{now():9.3f}  {call.who if call else 'somebody'}: {name} {what}"
