"""The templates that a StatefulSet has and had, as ControllerRevisions.

They are needed when a pod below the partition has to be made anew, from a template that is no longer in the spec; and
`kubectl rollout history` and `undo` read them.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from penstock.api.objects import Json
from penstock.cluster.errors import AlreadyExists, NotFound
from penstock.cluster.port import Preconditions
from penstock.engine.workloads.context import OWNER, Context, reference
from penstock.engine.workloads.kinds import MANAGER, REVISIONS, STATEFUL_SETS, Revision, StatefulSet
from penstock.engine.workloads.revisions import template_hash

_HASH = "controller.kubernetes.io/hash"


@dataclass(frozen=True, slots=True)
class Templates:
    """The two templates that count, by the names of their revisions."""

    current: str
    update: str
    known: dict[str, Json]

    def of(self, revision: str) -> Json:
        """A template; one that is no longer known is taken as it is now."""
        return self.known.get(revision) or self.known[self.update]


async def recorded(context: Context, item: StatefulSet) -> Templates:
    """Note the template as it is now, as the newest of its StatefulSet."""
    found = sorted(context.caches.revisions.by(OWNER, item.metadata.uid), key=lambda one: one.revision)
    digest = template_hash(item.spec.template)
    name, newest = f"{item.metadata.name}-{digest}", found[-1].revision if found else 0
    same = next((one for one in found if one.metadata.name == name), None)
    if same is None:
        await _make(context, item, name, digest, newest + 1)
    elif same.revision < newest:
        patch = {"metadata": {"uid": same.metadata.uid}, "revision": newest + 1}
        await context.cluster.patch(REVISIONS, name, patch, namespace=item.metadata.namespace, manager=MANAGER)
    known = {one.metadata.name: one.data["spec"]["template"] for one in found} | {name: item.spec.template}
    said = item.status.get("currentRevision", "")
    return Templates(said if said in known else name, name, known)


async def _make(context: Context, item: StatefulSet, name: str, digest: str, number: int) -> None:
    meta, template = item.metadata, item.spec.template
    labels = (template.get("metadata") or {}).get("labels") or {}
    body: Json = {
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": {**labels, _HASH: digest},
            "ownerReferences": [reference(STATEFUL_SETS, item)],
        },
        "data": {"spec": {"template": {**template, "$patch": "replace"}}},
        "revision": number,
    }
    # One of that name is ours, not shown by the watch yet: who else would know the hash.
    with suppress(AlreadyExists):
        await context.cluster.create(REVISIONS, body, manager=MANAGER)


async def trim(context: Context, item: StatefulSet, used: Collection[str]) -> None:
    """Delete the oldest revisions that no pod has, beyond those to be kept."""
    limit = item.spec.revision_history_limit
    unused = [one for one in _of(context, item) if one.metadata.name not in used]
    for one in unused[: max(0, len(unused) - limit)] if limit >= 0 else ():
        meta = one.metadata
        with suppress(NotFound):
            only_if = Preconditions(uid=meta.uid)
            await context.cluster.delete(REVISIONS, meta.name, namespace=meta.namespace, only_if=only_if)


def _of(context: Context, item: StatefulSet) -> list[Revision]:
    return sorted(context.caches.revisions.by(OWNER, item.metadata.uid), key=lambda one: one.revision)
