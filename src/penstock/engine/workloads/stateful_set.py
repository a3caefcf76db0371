"""Keeps the pods and claims of a StatefulSet as its template says, and tells how far that is."""

from __future__ import annotations

from contextlib import suppress

from penstock.api.objects import Json
from penstock.cluster.errors import AlreadyExists, NotFound
from penstock.engine.workloads import history, stateful_claims
from penstock.engine.workloads.children import Children, pod_from
from penstock.engine.workloads.context import Context
from penstock.engine.workloads.history import Templates
from penstock.engine.workloads.kinds import CLAIMS, MANAGER, STATEFUL_SETS, Claim, Pod, StatefulSet
from penstock.engine.workloads.stateful_plan import REVISION, Create, Plan, Situation, plan

_POD_NAME, _POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"


class StatefulSets:
    """The controller of StatefulSets."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._children = Children(context, STATEFUL_SETS)

    def forget(self, uid: str) -> None:
        """A StatefulSet is gone."""
        self._children.forget(uid)

    async def look(self, namespace: str, name: str) -> float | None:
        """Do what is to be done for one of them; the seconds after which to look again, if time alone matters."""
        item = self._context.caches.stateful_sets.get(name, namespace)
        if item is None:
            return None
        await self._children.sort_out(item, item.spec.selector, may_be=lambda pod: _is_member(pod, item))
        templates = await history.recorded(self._context, item)
        pods = self._children.of(item)
        now = Situation(
            spec=item.spec, current=templates.current, update=templates.update, now=self._context.now(),
            pods={pod.ordinal: pod for pod in pods if pod.ordinal is not None},
        )  # fmt: skip
        decided = Plan()
        if item.metadata.deletion_timestamp is None:
            decided = plan(now)
            await self._keep_claims(item, now)
            await self._act(item, decided, templates)
        await self._context.tell_status(STATEFUL_SETS, item, item.status, _status(item, now, pods))
        used = {templates.current, templates.update, *(pod.metadata.labels.get(REVISION, "") for pod in pods)}
        await history.trim(self._context, item, used)
        return decided.again

    async def _act(self, item: StatefulSet, decided: Plan, templates: Templates) -> None:
        for wanted in decided.create:
            if await self._claims_are_there(item, wanted.ordinal):
                await self._children.create(item, _pod(item, wanted, templates))
        for one in decided.delete:
            await self._children.delete(item, one.pod, one.why)

    async def _claims_are_there(self, item: StatefulSet, ordinal: int) -> bool:
        """Make the claims of a pod; false while one of that name is still on its way out."""
        meta, fine = item.metadata, True
        for body in stateful_claims.claims(item, ordinal):
            name = body["metadata"]["name"]
            there = self._context.caches.claims.get(name, meta.namespace)
            if there is None:
                with suppress(AlreadyExists):
                    await self._context.cluster.create(CLAIMS, body, manager=MANAGER)
            elif there.leaving or _goes_with_its_pod(there):
                told = f'pod {meta.name}-{ordinal} waits until claim "{name}", which is being deleted, is gone'
                self._context.events.warning(STATEFUL_SETS, item, "FailedCreate", told)
                fine = False
        return fine

    async def _keep_claims(self, item: StatefulSet, now: Situation) -> None:
        """Let claims go with whom the retention policy says; before anything is deleted."""
        for ordinal, pod in now.pods.items():
            condemned = ordinal not in now.ordinals
            for template in item.spec.volume_claim_templates:
                name = stateful_claims.claim_name(template, item, ordinal)
                claim = await self._claim(name, item.metadata.namespace, sure=condemned and not pod.leaving)
                if claim is None or claim.leaving or (pod.leaving and not condemned):
                    continue
                owners = stateful_claims.owners_wanted(item, pod, claim, condemned=condemned)
                if owners is not None:
                    await self._own(claim, owners)

    async def _claim(self, name: str, namespace: str, *, sure: bool) -> Claim | None:
        """A claim; when its pod is about to go, one that the watch does not show yet is asked for."""
        claim = self._context.caches.claims.get(name, namespace)
        if claim is None and sure:
            with suppress(NotFound):
                claim = await self._context.cluster.get(CLAIMS, name, namespace)
        return claim

    async def _own(self, claim: Claim, owners: list[Json]) -> None:
        """Say whom a claim goes with. When somebody was faster the look is repeated: its pod must not go before."""
        meta = claim.metadata
        patch = {"metadata": {"resourceVersion": meta.resource_version, "ownerReferences": owners}}
        with suppress(NotFound):
            await self._context.cluster.patch(CLAIMS, meta.name, patch, namespace=meta.namespace, manager=MANAGER)


def _is_member(pod: Pod, item: StatefulSet) -> bool:
    return pod.ordinal is not None and pod.metadata.name == f"{item.metadata.name}-{pod.ordinal}"


def _goes_with_its_pod(claim: Claim) -> bool:
    return any(owner.kind == "Pod" for owner in claim.metadata.owner_references)


def _pod(item: StatefulSet, wanted: Create, templates: Templates) -> Json:
    name = f"{item.metadata.name}-{wanted.ordinal}"
    labels = {_POD_NAME: name, _POD_INDEX: str(wanted.ordinal), REVISION: wanted.revision}
    body = pod_from(templates.of(wanted.revision), name=name, namespace=item.metadata.namespace, labels=labels)
    identity = {"hostname": name} | ({"subdomain": item.spec.service_name} if item.spec.service_name else {})
    body["spec"] = stateful_claims.with_claims(item, wanted.ordinal, body["spec"]) | identity
    return body


def _status(item: StatefulSet, now: Situation, pods: list[Pod]) -> Json:
    staying = [pod.metadata.labels.get(REVISION) for pod in pods if not pod.leaving]
    ready = [pod for pod in pods if pod.ready]
    counts = {
        "readyReplicas": len(ready),
        "currentReplicas": staying.count(now.current),
        "updatedReplicas": staying.count(now.update),
    }
    available = sum(pod.available(item.spec.min_ready_seconds, now.now) for pod in ready)
    current, wanted = now.current, item.spec.replicas
    rolls = item.spec.update_strategy.type == "RollingUpdate"
    if rolls and counts["updatedReplicas"] == counts["readyReplicas"] == len(pods) == wanted:
        current, counts["currentReplicas"] = now.update, counts["updatedReplicas"]
    return {
        "observedGeneration": item.metadata.generation,
        "replicas": len(pods),
        **{name: count for name, count in counts.items() if count},
        "availableReplicas": available,
        "currentRevision": current,
        "updateRevision": now.update,
        "collisionCount": 0,
    }
