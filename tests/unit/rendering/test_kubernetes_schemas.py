"""Every object we make has only fields that Kubernetes knows, of the types it wants, in old and new releases."""

from __future__ import annotations

import re

import kubernetes_validate  # type: ignore[import-untyped]
import pytest

from .variants import VARIANTS, objects

OTHERS = {"ServiceMonitor"}  # Prometheus' own kind: its schema is not Kubernetes'


OLDEST, NEWEST = "1.29", "1.37"
CASES = [*((NEWEST, variant) for variant in VARIANTS), (OLDEST, "our images"), (OLDEST, "Slinky's images")]
# Objects that differ only in these texts have one shape.
SAME = re.compile(r"[0-9a-f]{64}|compute-\d+|x:24.11|localhost/penstock/\w+:26.05")


def test_every_object_fits_kubernetes_own_schema() -> None:
    """NS-1, CL-1: strictly, so that a misspelt field fails here and is not dropped by a cluster."""
    seen: set[str] = set()
    for release, variant in CASES:
        for each in objects(variant):
            shape = release + SAME.sub("", repr(each.get("spec", each["kind"])))
            if each["kind"] not in OTHERS and shape not in seen:
                assert kubernetes_validate.validate(each, release, strict=True) == release
            seen.add(shape)
    assert len(seen) > 40


def test_the_schemas_would_notice_a_misspelt_field() -> None:
    """A judge that nods at everything would be no judge."""
    pod = next(each for each in objects("our images") if each["kind"] == "Pod")
    pod["spec"]["containers"][0]["securityContext"]["privilegedd"] = True
    with pytest.raises(kubernetes_validate.ValidationError, match="privilegedd"):
        kubernetes_validate.validate(pod, NEWEST, strict=True)
