"""Whether a pod may be evicted: PodDisruptionBudgets, reckoned from the pods that are there.

A Kubernetes cluster has a controller that keeps each budget's status; here the same sum is done when somebody asks.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import msgspec

from penstock.api.objects import Json
from penstock.api.scalars import IntOrPercent
from penstock.cluster.errors import Overloaded, Refused
from penstock.cluster.selectors import object_matcher
from penstock.cluster.store.ledger import Ledger
from penstock.cluster.store.records import Record

_BUDGETS = "poddisruptionbudgets.policy"
_NOT_RUNNING = frozenset({"Succeeded", "Failed", "Pending"})
_RETRY_AFTER = 10.0
"""Seconds, as the API server asks for."""


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""
    conditions: tuple[_Condition, ...] = ()


class _Pod(msgspec.Struct, frozen=True):
    status: _Status = _Status()


@dataclass(frozen=True, slots=True)
class Budgets:
    """The budgets of all namespaces."""

    ledger: Ledger

    def allow(self, pod: Record) -> None:
        """Nothing, or `Overloaded` when a budget says not now."""
        if pod.meta.deletion_timestamp is not None or _status(pod).phase in _NOT_RUNNING:
            return
        found = self._over(pod)
        if len(found) > 1:
            raise Refused(f"{pod.key} has more than one PodDisruptionBudget, which eviction does not support")
        if found and not self._leaves_enough(found[0], pod):
            message = "Cannot evict pod as it would violate the pod's disruption budget."
            raise Overloaded(message, retry_after=_RETRY_AFTER)

    def _over(self, pod: Record) -> list[Json]:
        budgets = [record.decoded()["spec"] for record in self.ledger.in_namespace(_BUDGETS, pod.key.namespace)]
        selecting = [spec for spec in budgets if spec.get("selector") is not None]
        return [spec for spec in selecting if object_matcher(spec["selector"])(pod.meta.labels)]

    def _leaves_enough(self, spec: Json, pod: Record) -> bool:
        selects = object_matcher(spec["selector"])
        pods = [one for one in self.ledger.in_namespace("pods", pod.key.namespace) if selects(one.meta.labels)]
        healthy = sum(_is_healthy(one) for one in pods)
        wanted = self._wanted(spec, pods)
        if _is_healthy(pod):
            return healthy > wanted
        return spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow" or healthy >= wanted > 0

    def _wanted(self, spec: Json, pods: list[Record]) -> int:
        """How many healthy pods the budget insists on."""
        expected = self._expected(pods)
        if "maxUnavailable" in spec:
            return max(0, expected - IntOrPercent.parse(spec["maxUnavailable"]).of(expected))
        return IntOrPercent.parse(spec.get("minAvailable", 0)).of(expected)

    def _expected(self, pods: list[Record]) -> int:
        """How many pods there should be: as their owners say, or as many as there are."""
        owners = Counter(_controller(pod) for pod in pods)
        return sum(self._size(uid, count) for uid, count in owners.items())

    def _size(self, uid: str, count: int) -> int:
        owner = self.ledger.with_uid(uid)
        replicas = None if owner is None else owner.decoded().get("spec", {}).get("replicas")
        return replicas if isinstance(replicas, int) else count


def _status(pod: Record) -> _Status:
    return msgspec.json.decode(pod.body, type=_Pod).status


def _is_healthy(pod: Record) -> bool:
    ready = any(one.type == "Ready" and one.status == "True" for one in _status(pod).conditions)
    return ready and pod.meta.deletion_timestamp is None


def _controller(pod: Record) -> str:
    return next((owner.uid for owner in pod.meta.owner_references if owner.controller), "")
