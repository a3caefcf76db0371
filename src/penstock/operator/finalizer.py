"""A NodeSet that is deleted stays until its workers have left, drained, and its reservation: finalizers hold it.

So do those by whom Slurm says that a worker may go: its Controller and what belongs to that (`operator/departure.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from penstock.cluster.errors import Conflict, NotFound
from penstock.cluster.resources import Meta
from penstock.operator.context import Context
from penstock.operator.resources import CUSTOMS, Custom

FINALIZER = "nodeset.slinky.slurm.net/workers"
CONTROLLER = "controller.slinky.slurm.net/node-sets"
REST_API = "restapi.slinky.slurm.net/node-sets"
ACCOUNTING = "accounting.slinky.slurm.net/controllers"
RESERVATION = "nodeset.slinky.slurm.net/reservation"
"""Slinky's, too."""
_ALL = (FINALIZER, RESERVATION, CONTROLLER, REST_API, ACCOUNTING)
_ORPHAN = "orphan"
"""Kubernetes' own, while it takes an object that is deleted with `--cascade=orphan` from what it owns."""


def is_held(item: Custom, *names: str) -> bool:
    """Whether an object waits for us before it goes; for something of this, if it is named."""
    return any(name in item.metadata.finalizers for name in names or _ALL)


def leaves_orphans(meta: Meta) -> bool:
    """Whether an object is deleted without its workers: they are about to be nobody's, and go on as they are."""
    return meta.deletion_timestamp is not None and _ORPHAN in meta.finalizers


async def hold(context: Context, item: Custom, name: str = FINALIZER, *, kind: str = "NodeSet") -> None:
    """Have a NodeSet wait for its workers, before it has any: `Conflict` when it changed since we saw it."""
    if not is_held(item, name):
        await _write(context, kind, item, [*item.metadata.finalizers, name])


async def release(context: Context, item: Custom, name: str = FINALIZER, *, kind: str = "NodeSet") -> bool:
    """Let it go; tells whether it does. If it changed since we saw it, somebody has to look again.

    That change need not bring anybody here: it may have been our own, of its status.
    """
    if is_held(item, name):
        try:
            await _write(context, kind, item, [each for each in item.metadata.finalizers if each != name])
        except Conflict:
            return False
    return True


async def _write(context: Context, kind: str, item: Custom, names: Sequence[str]) -> None:
    """Others have finalizers too: ours is written only over what we saw."""
    meta = item.metadata
    wanted = {"metadata": {"resourceVersion": meta.resource_version, "finalizers": [*names]}}
    with suppress(NotFound):
        await context.cluster.patch(CUSTOMS[kind], meta.name, wanted, namespace=meta.namespace)
