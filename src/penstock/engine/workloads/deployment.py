"""Rolls the pods of a Deployment from one template to the next, through a ReplicaSet for each."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from penstock.api.objects import Json
from penstock.cluster.errors import AlreadyExists, Conflict, NotFound
from penstock.cluster.port import Preconditions
from penstock.engine.workloads import deployment_status, rollout
from penstock.engine.workloads.context import OWNER, Context, controller_of, reference
from penstock.engine.workloads.kinds import DEPLOYMENTS, MANAGER, REPLICA_SETS, Deployment, Pod, ReplicaSet
from penstock.engine.workloads.revisions import template_hash

HASH = "pod-template-hash"
"""Label: which template a ReplicaSet and its pods have."""
_REVISION = "deployment.kubernetes.io/revision"
_DESIRED, _MAX = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = frozenset({"kubectl.kubernetes.io/last-applied-configuration", _REVISION, _DESIRED, _MAX})


@dataclass(frozen=True, slots=True)
class _Sets:
    """The ReplicaSets of a Deployment: that of its template, and the others, the oldest first."""

    new: ReplicaSet | None
    old: list[ReplicaSet]


class Deployments:
    """The controller of Deployments."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def look(self, namespace: str, name: str) -> float | None:
        """Do what is to be done for one of them; the seconds after which to look again, if time alone matters."""
        item = self._context.caches.deployments.get(name, namespace)
        if item is None:
            return None
        wish, sets = _wish(item), self._sets(item)
        if item.metadata.deletion_timestamp is None:
            sets = await self._with_new(item, wish, sets)
            sets = await self._keep_notes(item, wish, sets)
            await self._scale(item, wish, sets)
            await self._trim(item, sets)
        now = self._context.now()
        scene = deployment_status.Scene(
            item=item, new=sets.new, old=sets.old, max_unavailable=wish.bounds[1], now=now
        )  # fmt: skip
        await self._context.tell_status(DEPLOYMENTS, item, item.status, deployment_status.status(scene))
        return deployment_status.late_in(item, now)

    def _sets(self, item: Deployment) -> _Sets:
        found = list(self._context.caches.replica_sets.by(OWNER, item.metadata.uid))
        found.sort(key=lambda one: (_revision(one), one.metadata.creation_timestamp, one.metadata.name))
        digest = self._digest(item)
        new = next((one for one in found if one.metadata.labels.get(HASH) == digest), None)
        return _Sets(new, [one for one in found if one is not new])

    @staticmethod
    def _digest(item: Deployment) -> str:
        return template_hash(item.spec.template, int(item.status.get("collisionCount", 0)))

    async def _with_new(self, item: Deployment, wish: rollout.Wish, sets: _Sets) -> _Sets:
        """Make the ReplicaSet of the template, if it may be there by now."""
        busy = wish.recreate and any(one.spec.replicas or self._pods_of(one) for one in sets.old)
        if sets.new or busy or (wish.paused and sets.old):
            return sets
        size = rollout.first_size(wish, None, [self._crew(one) for one in sets.old])
        body = _replica_set(item, self._digest(item), size)
        try:
            made = await self._context.cluster.create(REPLICA_SETS, body, manager=MANAGER)
        except AlreadyExists:
            await self._settle_collision(item, body["metadata"]["name"])
            return sets
        told = f"Scaled up replica set {made.metadata.name} from 0 to {size}"
        self._context.events.normal(DEPLOYMENTS, item, "ScalingReplicaSet", told)
        return _Sets(made, sets.old)

    async def _settle_collision(self, item: Deployment, name: str) -> None:
        """A ReplicaSet of that name is ours and not shown yet, or somebody else's; then ours needs another name."""
        with suppress(NotFound):
            there = await self._context.cluster.get(REPLICA_SETS, name, item.metadata.namespace)
            owner = controller_of(there)
            if owner is None:
                # Its Deployment was deleted without it, and is back.
                mine = {"ownerReferences": [reference(DEPLOYMENTS, item)]}
                await self._patch(there, {"metadata": {"resourceVersion": there.metadata.resource_version, **mine}})
            elif owner.uid != item.metadata.uid:
                count = int(item.status.get("collisionCount", 0)) + 1
                await self._context.tell_status(
                    DEPLOYMENTS, item, item.status, {**item.status, "collisionCount": count}
                )
        raise Conflict(f'replica set "{name}" of deployment "{item.metadata.name}" is there already; looking again')

    async def _keep_notes(self, item: Deployment, wish: rollout.Wish, sets: _Sets) -> _Sets:
        """Number the templates, on the newest ReplicaSet and on the Deployment; `kubectl rollout` reads that."""
        if sets.new is None:
            return sets
        number = max([_revision(one) for one in sets.old], default=0) + 1
        wanted = _annotations(item, wish) | {_REVISION: str(max(number, _revision(sets.new)))}
        new, ready_for = sets.new, item.spec.min_ready_seconds
        if not wanted.items() <= new.metadata.annotations.items() or new.spec.min_ready_seconds != ready_for:
            new = await self._patch(new, {"metadata": {"annotations": wanted}, "spec": {"minReadySeconds": ready_for}})
        if item.metadata.annotations.get(_REVISION) != wanted[_REVISION]:
            where = item.metadata
            note = {"metadata": {"uid": where.uid, "annotations": {_REVISION: wanted[_REVISION]}}}
            await self._context.cluster.patch(DEPLOYMENTS, where.name, note, namespace=where.namespace, manager=MANAGER)
        return _Sets(new, sets.old)

    async def _scale(self, item: Deployment, wish: rollout.Wish, sets: _Sets) -> None:
        new = self._crew(sets.new) if sets.new else None
        changes = rollout.sizes(wish, new, [self._crew(one) for one in sets.old])
        for one in [one for one in [*sets.old, sets.new] if one and one.metadata.name in changes]:
            before, after = one.spec.replicas, changes[one.metadata.name]
            # The version makes sure that we decided on the size that it has, and not on one that it had.
            metadata = {"resourceVersion": one.metadata.resource_version, "annotations": _sizes(item, wish)}
            await self._patch(one, {"metadata": metadata, "spec": {"replicas": after}})
            way = "up" if after > before else "down"
            told = f"Scaled {way} replica set {one.metadata.name} from {before} to {after}"
            self._context.events.normal(DEPLOYMENTS, item, "ScalingReplicaSet", told)

    async def _trim(self, item: Deployment, sets: _Sets) -> None:
        """Delete the oldest ReplicaSets that have no pods, beyond those to be kept, once the rollout is done."""
        if sets.new is None or sets.new.counts.available_replicas < item.spec.replicas:
            return
        surplus = max(0, len(sets.old) - item.spec.revision_history_limit)
        for one in sets.old[:surplus]:
            seen = one.counts.observed_generation >= one.metadata.generation
            if one.spec.replicas == 0 and one.counts.replicas == 0 and seen and not self._pods_of(one):
                meta, only_if = one.metadata, Preconditions(uid=one.metadata.uid)
                with suppress(NotFound, Conflict):
                    await self._context.cluster.delete(
                        REPLICA_SETS, meta.name, namespace=meta.namespace, only_if=only_if
                    )

    async def _patch(self, one: ReplicaSet, patch: Json) -> ReplicaSet:
        meta = one.metadata
        return await self._context.cluster.patch(
            REPLICA_SETS, meta.name, patch, namespace=meta.namespace, manager=MANAGER
        )

    def _pods_of(self, one: ReplicaSet) -> list[Pod]:
        return [pod for pod in self._context.caches.pods.by(OWNER, one.metadata.uid) if not pod.ended]

    def _crew(self, one: ReplicaSet) -> rollout.Crew:
        pods = self._pods_of(one)
        return rollout.Crew(
            name=one.metadata.name, size=one.spec.replicas, available=one.counts.available_replicas,
            staying=sum(not pod.leaving for pod in pods), pods=len(pods),
        )  # fmt: skip


def _wish(item: Deployment) -> rollout.Wish:
    strategy, rolling = item.spec.strategy, item.spec.strategy.rolling_update
    unavailable = "25%" if rolling.max_unavailable is None else rolling.max_unavailable
    return rollout.Wish(
        replicas=item.spec.replicas, recreate=strategy.type == "Recreate", max_surge=rolling.max_surge,
        max_unavailable=unavailable, paused=item.spec.paused,
    )  # fmt: skip


def _revision(one: ReplicaSet) -> int:
    text = one.metadata.annotations.get(_REVISION, "")
    return int(text) if text.isdecimal() else 0


def _annotations(item: Deployment, wish: rollout.Wish) -> dict[str, str]:
    copied = {name: text for name, text in item.metadata.annotations.items() if name not in _NOT_COPIED}
    return {**copied, **_sizes(item, wish)}


def _sizes(item: Deployment, wish: rollout.Wish) -> dict[str, str]:
    """What a ReplicaSet knows of the Deployment that it was scaled for."""
    return {_DESIRED: str(item.spec.replicas), _MAX: str(item.spec.replicas + wish.bounds[0])}


def _replica_set(item: Deployment, digest: str, size: int) -> Json:
    meta, template = item.metadata, item.spec.template
    inner: Json = template.get("metadata") or {}
    labels = {**(inner.get("labels") or {}), HASH: digest}
    selector = {
        **item.spec.selector,
        "matchLabels": {**(item.spec.selector.get("matchLabels") or {}), HASH: digest},
    }
    return {
        "metadata": {
            "name": f"{meta.name[: 253 - len(digest) - 1]}-{digest}",
            "namespace": meta.namespace,
            "labels": labels,
            "ownerReferences": [reference(DEPLOYMENTS, item)],
        },
        "spec": {
            "replicas": size,
            "minReadySeconds": item.spec.min_ready_seconds,
            "selector": selector,
            "template": {**template, "metadata": {**inner, "labels": labels}},
        },
    }
