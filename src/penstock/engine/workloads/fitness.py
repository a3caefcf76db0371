"""Whether a pod may run on a machine: the rules of Kubernetes' scheduler, in its words. Pure.

Requests are not summed up: one machine may be overcommitted, which is how a laptop runs a cluster of forty. All else
that keeps a pod off a machine is honoured, so that it waits here for the reason it would wait for in Kubernetes; but
workers share the machine, whatever their NodeSet says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from penstock.api.objects import Json
from penstock.cluster.selectors import Requirement, object_matcher
from penstock.engine.workloads.kinds import Claim, Machine, Pod, Taint, Toleration
from penstock.render import labels

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def refusal(pod: Pod, machine: Machine, here: Iterable[Pod], claims: Mapping[str, Claim | None]) -> str:
    """Why a pod may not run on a machine, in the scheduler's words; empty when it may."""
    if pod.spec.scheduling_gates:
        return "Scheduling is blocked due to non-empty scheduling gates"
    return (
        _tainted(pod, machine)
        or _not_chosen(pod, machine)
        or _unwelcome(pod, machine, here)
        or next(filter(None, (_unusable(name, claim) for name, claim in sorted(claims.items()))), "")
    )


def _tainted(pod: Pod, machine: Machine) -> str:
    cordoned = [_UNSCHEDULABLE] if machine.spec.unschedulable else []
    for taint in [*cordoned, *machine.spec.taints]:
        if taint.effect != "PreferNoSchedule" and not _tolerated(taint, pod.spec.tolerations):
            if taint.key == _UNSCHEDULABLE.key:
                return "1 node(s) were unschedulable"
            return f"1 node(s) had untolerated taint(s) {{{taint.key}: {taint.value}}}"
    return ""


def _tolerated(taint: Taint, tolerations: Collection[Toleration]) -> bool:
    return any(
        one.effect in {"", taint.effect}
        and (one.key == taint.key or (not one.key and one.operator == "Exists"))
        and (one.operator == "Exists" or one.value == taint.value)
        for one in tolerations
    )


def _not_chosen(pod: Pod, machine: Machine) -> str:
    """Node selectors and required node affinity."""
    its_labels, fields = machine.metadata.labels, {"metadata.name": machine.metadata.name}
    affinity = ((pod.spec.affinity or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    terms: list[Json] = affinity.get("nodeSelectorTerms") or []
    fits = not affinity or any(
        _holds(term.get("matchExpressions"), its_labels) and _holds(term.get("matchFields"), fields)
        for term in terms
        if term.get("matchExpressions") or term.get("matchFields")
    )
    if pod.spec.node_selector.items() <= its_labels.items() and fits:
        return ""
    return "1 node(s) didn't match Pod's node affinity/selector"


_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": ">", "Lt": "<"}


def _holds(expressions: Sequence[Json] | None, its_labels: Mapping[str, str]) -> bool:
    return all(
        one.get("operator") in _OPERATORS
        and Requirement(one["key"], _OPERATORS[one["operator"]], tuple(one.get("values") or ())).matches(its_labels)
        for one in expressions or ()
    )


def _unwelcome(pod: Pod, machine: Machine, here: Iterable[Pod]) -> str:
    """Required anti-affinity, of the pod against those that are here and of theirs against it; and affinity."""
    staying = [one for one in here if not one.ended and one.metadata.uid != pod.metadata.uid]
    others = [one for one in staying if not (_works(pod) and _works(one))]
    if any(_means(term, pod, one, machine) for term in _terms(pod, "podAntiAffinity") for one in others):
        return "1 node(s) didn't match pod anti-affinity rules"
    if any(_means(term, one, pod, machine) for one in others for term in _terms(one, "podAntiAffinity")):
        return "1 node(s) didn't satisfy existing pods anti-affinity rules"
    for term in _terms(pod, "podAffinity"):
        # A pod that means itself is the first of its kind, and may begin.
        if not any(_means(term, pod, one, machine) for one in [*staying, pod]):
            return "1 node(s) didn't match pod affinity rules"
    return ""


def _works(pod: Pod) -> bool:
    """Whether it is a worker. A NodeSet wants a machine for each of its own, and here is but one: they share it."""
    return pod.metadata.labels.get(labels.NAME) == "slurmd"


def _terms(pod: Pod, kind: str) -> list[Json]:
    return ((pod.spec.affinity or {}).get(kind) or {}).get(_REQUIRED) or []


def _means(term: Json, who: Pod, whom: Pod, machine: Machine) -> bool:
    """Whether a pod's term speaks of another pod that is, or would be, in the same place."""
    namespaces = term.get("namespaces") or [who.metadata.namespace]
    everywhere = term.get("namespaceSelector") == {}
    selector = term.get("labelSelector")
    return (
        term.get("topologyKey") in machine.metadata.labels
        and (everywhere or whom.metadata.namespace in namespaces)
        and selector is not None
        and object_matcher(selector)(whom.metadata.labels)
    )


def _unusable(name: str, claim: Claim | None) -> str:
    if claim is None:
        return f'persistentvolumeclaim "{name}" not found'
    if claim.leaving:
        return f'persistentvolumeclaim "{name}" is being deleted'
    return "" if claim.bound else "pod has unbound immediate PersistentVolumeClaims"
