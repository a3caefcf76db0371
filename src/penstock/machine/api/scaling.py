"""The size of an object, apart from the rest of it: what `kubectl scale` reads and writes."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.api.objects import Json
from penstock.cluster.errors import Refused


class _Spec(msgspec.Struct, frozen=True):
    replicas: int | None = None
    selector: Any = None


class _Status(msgspec.Struct, frozen=True):
    replicas: int = 0
    selector: str = ""


class _Sized(msgspec.Struct, frozen=True):
    metadata: Json
    spec: _Spec = _Spec()
    status: _Status = _Status()


def seen(body: bytes) -> bytes:
    """An object as a Scale."""
    sized = msgspec.json.decode(body, type=_Sized)
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = 1 if sized.spec.replicas is None else sized.spec.replicas
    return msgspec.json.encode(
        {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {name: sized.metadata[name] for name in kept if name in sized.metadata},
            "spec": {"replicas": replicas} if replicas else {},
            "status": {"replicas": sized.status.replicas, "selector": _selector(sized)},
        }
    )


def _selector(sized: _Sized) -> str:
    """The pods that are counted: our kinds say it in their status, Kubernetes' own in their spec."""
    selector = sized.spec.selector if isinstance(sized.spec.selector, dict) else {}
    labels = selector.get("matchLabels")
    return sized.status.selector or ",".join(f"{name}={value}" for name, value in (labels or {}).items())


def patch(wanted: Json, scale: Json) -> Json:
    """What a Scale changes on the object it was read from: its size and nothing else."""
    spec, metadata = wanted.get("spec") or {}, wanted.get("metadata") or {}
    # A Scale without a number stands for none: Go leaves out a 0 when it writes one.
    replicas = spec.get("replicas", 0) if isinstance(spec, dict) else None
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        wrong = f"spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0"
        raise Refused(f'Scale.autoscaling "{scale["metadata"]["name"]}" is invalid: {wrong}')
    version = metadata.get("resourceVersion") or scale["metadata"]["resourceVersion"]
    return {"spec": {"replicas": replicas}, "metadata": {"resourceVersion": version}}
