"""Objects as people might write them, drawn from the kinds' own schemas; many are wrong, and validation says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st

from penstock.api.accounting import AccountingSpec
from penstock.api.controller import ControllerSpec
from penstock.api.kinds import API_VERSION, Kind
from penstock.api.loginset import LoginSetSpec
from penstock.api.nodeset import NodeSetSpec
from penstock.api.objects import Json, Part
from penstock.api.restapi import RestApiSpec
from penstock.api.schema import schema_of
from penstock.api.token import TokenSpec
from penstock.api.validation import examine

names = st.sampled_from(["a", "b2", "gpu"])
# What may stand in raw containers, pods and services; nobody checks those before us.
RAW: list[Json] = [
    {},
    {"image": "ghcr.io/slinkyproject/slurmd:25.05-rockylinux9"},
    {"image": "registry.example.com:5000/slurm@sha256:0", "args": ["-v"], "env": [{"name": "SLURM_JWT", "value": ""}]},
    {"resources": {"limits": {"cpu": "1500m", "memory": "2Gi", "amd.com/gpu": 3}, "requests": {"cpu": 1}}},
    {"resources": {"limits": {"nvidia.com/gpu": "1", "memory": None}}, "securityContext": {"privileged": False}},
    {"ports": [{"name": "ssh", "containerPort": 22}], "readinessProbe": {"exec": {"command": ["true"]}}},
    {"hostname": "n-", "volumes": [{"name": "scratch", "emptyDir": {}}], "affinity": {"podAntiAffinity": None}},
    {"hostNetwork": True, "containers": [{"name": "slurmd", "args": ["-b"]}, {"name": "dcgm", "image": "dcgm"}]},
    {"tolerations": [], "dnsConfig": None, "nodeSelector": {"kubernetes.io/os": "linux"}, "hostname": None},
    {"type": "LoadBalancer", "externalIPs": ["10.0.0.1"], "ports": [{"name": "b", "port": 80}]},
    {"securityContext": None, "volumeMounts": [{"name": "scratch", "mountPath": "/etc/slurm"}]},
]  # fmt: skip
WRONG: list[Json] = [
    {"image": 5}, {"resources": "many"}, {"ports": {"ssh": 22}}, {"affinity": "x"}, {"args": "-v"}, {"volumes": {}},
]  # fmt: skip
TEXTS = [
    "a", "b2", "gpu", "x-y", "ALL", "", "Default=YES MaxTime=1-0", "Feature=big Weight=2", "TreeWidth=8\n# end",
    "two words", "it's $(X) #1", "1Gi", "30m", "/srv/root",
]  # fmt: skip


def strategy(schema: Json) -> st.SearchStrategy[Any]:
    """Values of a structural schema, small ones."""
    if schema.get("x-kubernetes-int-or-string"):
        return st.sampled_from([1, 3, "25%", "100Gi", "500m"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return _LEAVES.get(schema.get("type", ""), _objects)(schema)


def _integers(least: int, most: int | None) -> st.SearchStrategy[int]:
    return st.integers(least, least + 12 if most is None else min(most, least + 12))


def _texts(schema: Json) -> st.SearchStrategy[str]:
    if schema.get("format") == "date-time":
        return st.just("2026-11-15T08:00:00Z")
    pattern, least = schema.get("pattern", ""), schema.get("minLength", 0)
    return st.sampled_from([text for text in TEXTS if re.search(pattern, text) and len(text) >= least])


def _objects(schema: Json) -> st.SearchStrategy[Any]:
    if "type" not in schema:  # the one union of the schemas: a partition's settings
        return st.sampled_from(["", "Default=YES", {"MaxTime": "1-0", "Default": True, "PriorityTier": 3}])
    if "additionalProperties" in schema:
        return st.dictionaries(names, strategy(schema["additionalProperties"]), max_size=2)
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return st.sampled_from([*RAW, *RAW, *RAW, *WRONG])
    required = set(schema.get("required", ()))
    fields = {name: strategy(child) for name, child in schema["properties"].items()}
    return st.fixed_dictionaries(
        {name: child for name, child in fields.items() if name in required},
        optional={name: child for name, child in fields.items() if name not in required},
    )


_LEAVES: dict[str, Callable[[Json], st.SearchStrategy[Any]]] = {
    "boolean": lambda _: st.booleans(),
    "integer": lambda schema: _integers(schema.get("minimum", 0), schema.get("maximum")),
    "string": _texts,
    "array": lambda schema: st.lists(strategy(schema["items"]), min_size=schema.get("minItems", 0), max_size=2),
}
_KEYS: Json = {"slurmKeyRef": {"name": "keys", "key": "slurm.key"}, "jwtKeyRef": {"name": "keys", "key": "jwt.key"}}
_MEMBER: Json = {"controllerRef": {"name": "slurm"}}
_SPECS: dict[str, tuple[type[Part], Json]] = {
    "Controller": (ControllerSpec, _KEYS),
    "Accounting": (AccountingSpec, {**_KEYS, "external": False}),
    "NodeSet": (NodeSetSpec, _MEMBER),
    "LoginSet": (LoginSetSpec, {**_MEMBER, "sssdConfRef": {"name": "sssd", "key": "sssd.conf"}}),
    "RestApi": (RestApiSpec, _MEMBER),
    "Token": (TokenSpec, {"jwtKeyRef": {"name": "keys", "key": "jwt.key"}}),
}


@cache
def kinds(kind: str, name: str = "slurm") -> st.SearchStrategy[Kind]:
    """Valid objects of a kind, in the namespace of the tests."""
    struct, fixed = _SPECS[kind]
    manifests = strategy(schema_of(struct)).map(
        lambda spec: {
            "apiVersion": API_VERSION,
            "kind": kind,
            "metadata": {"name": name, "namespace": "hpc"},
            "spec": spec | fixed,
        }
    )
    return manifests.map(lambda manifest: examine(manifest).kind).filter(lambda made: made is not None)  # type: ignore[return-value]
