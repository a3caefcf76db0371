"""What people apply in simulations: the package's own sample cluster with its Secrets and a Token, and a fuller one."""

from __future__ import annotations

import copy
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from penstock.api import kubeyaml
from penstock.api.objects import Json
from penstock.cluster.events import EVENTS
from penstock.cluster.leader import LEASES
from penstock.cluster.resources import Resource, Whole
from penstock.operator.resources import CUSTOMS, JOBS, MACHINES, OWNED, PODS, REVISIONS

NAMESPACE = "slurm"
NODE_SET = "slurm-worker-compute"
SLURM_KEY, JWT_KEY = "slurm-auth-slurm", "slurm-auth-jwt"
TOKEN = "admin"
_SAMPLES = Path(__file__).parents[1] / "samples" / "clusters"

RESOURCES: dict[str, Resource[Any]] = {
    **CUSTOMS, **OWNED, "Pod": PODS, "Node": MACHINES, "Event": EVENTS, "Lease": LEASES,
    "ControllerRevision": REVISIONS, "Job": JOBS,
}  # fmt: skip
"""Every resource that a simulation has to do with."""


class Seen(Whole, frozen=True):
    """An object with all that anybody compares."""

    immutable: bool = False
    revision: int = 0
    """Of a ControllerRevision."""
    reason: str = ""
    """Of an Event, as is the next."""
    note: str = ""


def whole(kind: str) -> Resource[Seen]:
    """A resource with all its fields."""
    return RESOURCES[kind].reading(Seen)


def sample() -> list[Json]:
    """The package's sample, what it refers to, and a Token: all six kinds."""
    text = files("penstock").joinpath("samples/cluster.yaml").read_text()
    return [*secrets(), *_documents(text), token()]


def everything() -> list[Json]:
    """The sample with most of what a CR can say, and all that it refers to."""
    return _documents((_SAMPLES / "everything.yaml").read_text())


def secrets() -> list[Json]:
    """The Secrets that the sample refers to."""
    return [
        secret(SLURM_KEY, **{"slurm.key": "a-key-that-slurm-daemons-share-among-them"}),
        secret(JWT_KEY, **{"jwt.key": "a-key-that-signs-tokens-for-slurmrestd-users"}),
        secret("mariadb-password", password="secret-of-the-database"),
        secret("slurm-sssd-conf", **{"sssd.conf": "[sssd]\nservices = nss\n"}),
    ]


def secret(name: str, **texts: str) -> Json:
    """A Secret."""
    return {**_about("v1", "Secret", name), "stringData": texts}


def config_map(name: str, **texts: str) -> Json:
    """A ConfigMap."""
    return {**_about("v1", "ConfigMap", name), "data": texts}


def token(name: str = TOKEN, **spec: object) -> Json:
    """A Token for an hour."""
    base = {"username": "slurm", "jwtKeyRef": {"name": JWT_KEY, "key": "jwt.key"}, "lifetime": "1h"}
    return {**_about("slinky.slurm.net/v1beta1", "Token", name), "spec": base | spec}


def machine(name: str, **labels: str) -> Json:
    """A Kubernetes node."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def _about(version: str, kind: str, name: str) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}}


def _documents(text: str) -> list[Json]:
    return copy.deepcopy(_parsed(text))


@cache
def _parsed(text: str) -> list[Json]:
    """YAML is slow, and there are many tests."""
    return [one.value for one in kubeyaml.documents(text) if isinstance(one.value, dict)]
