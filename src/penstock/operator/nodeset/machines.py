"""Where a worker may run: the scheduler's rules about node selectors, node affinity and taints, for DaemonSet mode.

Only to know for which machines a worker is wanted; placing it is the scheduler's affair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.api.objects import Json
from penstock.operator.resources import Machine, Taint

_KEEPS_AWAY = {"NoSchedule", "NoExecute"}
_OUT_OF_TOUCH = [
    {"key": f"node.kubernetes.io/{word}", "operator": "Exists", "effect": "NoExecute"}
    for word in ("not-ready", "unreachable")
]
"""What a machine is tainted with while its kubelet is not heard; DaemonSets tolerate that."""
_WHOLE = re.compile(r"[+-]?[0-9]+")


def takes(machine: Machine, pod_spec: Json) -> bool:
    """Whether a machine may take a new worker."""
    return (
        _is_meant(machine, pod_spec) and _tolerates(machine, pod_spec, _KEEPS_AWAY) and not machine.spec.unschedulable
    )


def keeps(machine: Machine, pod_spec: Json) -> bool:
    """Whether a machine may keep the worker it has: who is there already minds only what drives pods out."""
    patient = {"tolerations": [*(pod_spec.get("tolerations") or []), *_OUT_OF_TOUCH]}
    return _is_meant(machine, pod_spec) and _tolerates(machine, patient, {"NoExecute"})


def _is_meant(machine: Machine, pod_spec: Json) -> bool:
    selector: Mapping[str, str] = pod_spec.get("nodeSelector") or {}
    if not selector.items() <= machine.metadata.labels.items():
        return False
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(_term(term, machine) for term in required.get("nodeSelectorTerms") or [])


def _term(term: Json, machine: Machine) -> bool:
    """One alternative: all of its expressions. An empty one stands for no machine."""
    expressions: Sequence[Json] = term.get("matchExpressions") or []
    fields: Sequence[Json] = term.get("matchFields") or []
    named = {"metadata.name": machine.metadata.name}
    return bool(expressions or fields) and (
        all(_expression(one, machine.metadata.labels) for one in expressions)
        and all(_expression(one, named) for one in fields)
    )


def _expression(one: Json, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(str(one.get("key"))), one.get("values") or []
    rule = _OPERATORS.get(str(one.get("operator")))
    return rule is not None and rule(value, values)


def _compare(value: str | None, values: Sequence[Any], *, above: bool) -> bool:
    if len(values) != 1 or not all(_WHOLE.fullmatch(str(text)) for text in (value, *values)):
        return False
    given, bound = int(str(value)), int(values[0])
    return given > bound if above else given < bound


_OPERATORS: dict[str, Callable[[str | None, Sequence[Any]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: _compare(value, values, above=True),
    "Lt": lambda value, values: _compare(value, values, above=False),
}


def _tolerates(machine: Machine, pod_spec: Json, effects: set[str]) -> bool:
    tolerations: Sequence[Json] = pod_spec.get("tolerations") or []
    taints = [taint for taint in machine.spec.taints if taint.effect in effects]
    return all(any(_matches(one, taint) for one in tolerations) for taint in taints)


def _matches(toleration: Json, taint: Taint) -> bool:
    if toleration.get("effect") not in {None, "", taint.effect}:
        return False
    key, operator = toleration.get("key") or "", toleration.get("operator") or "Equal"
    if not key:
        return bool(operator == "Exists")
    if operator == "Equal" and (toleration.get("value") or "") != taint.value:
        return False
    return key == taint.key and operator in {"Equal", "Exists"}
