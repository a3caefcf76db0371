"""Whether an object of Kubernetes' own kinds is one that the engine can read.

A real API server refuses `replicas: "two"` at the door. The store takes any JSON, and one object that cannot be read
would leave every reader of its kind without news; whoever lets objects in from outside asks here first.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.api.objects import Json
from penstock.api.scalars import IntOrPercent, ScalarError
from penstock.engine import contents, podspec, services
from penstock.engine.workloads import kinds

_READERS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "pods": (kinds.Pod, podspec.Pod),
    **{
        one.name: (one.struct,)
        for one in (
            contents.CONFIG_MAPS, contents.SECRETS, services.SERVICES,
            kinds.CLAIMS, kinds.VOLUMES, kinds.MACHINES, kinds.NAMESPACES, kinds.STATEFUL_SETS, kinds.DEPLOYMENTS,
            kinds.REPLICA_SETS, kinds.REVISIONS, kinds.JOBS,
        )
    },
}  # fmt: skip
_WITH_TEMPLATE = frozenset({"statefulsets.apps", "deployments.apps", "replicasets.apps", "jobs.batch"})


def problem(resource: str, body: Json) -> str:
    """Why an object cannot be read, with the field; empty when it can. `resource` is its full name: `pods`."""
    if resource not in _READERS:
        return ""
    try:
        for struct in _READERS[resource]:
            msgspec.convert(body, struct)
        if resource in _WITH_TEMPLATE:
            template: Any = (body.get("spec") or {}).get("template") or {}
            msgspec.convert({"metadata": {"name": "x"}, "spec": template.get("spec") or {}}, podspec.Pod)
            msgspec.convert(template, kinds.Template)
        _check_shares(body.get("spec"))
    except (msgspec.ValidationError, ScalarError, AttributeError) as error:
        return str(error)
    return ""


def _check_shares(spec: Any) -> None:
    """Counts and percentages, which are parsed only when they are needed."""
    for strategy in ("strategy", "updateStrategy"):
        rolling = ((spec or {}).get(strategy) or {}).get("rollingUpdate") or {}
        for name in ("maxSurge", "maxUnavailable"):
            if rolling.get(name) is not None:
                IntOrPercent.parse(rolling[name])
