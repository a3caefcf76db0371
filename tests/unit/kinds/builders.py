"""Objects of the six kinds, complete and right, with what a test wants to be different."""

from typing import Any

from penstock.api.kinds import API_VERSION
from penstock.api.objects import Json
from penstock.api.problems import Problem, Severity
from penstock.api.validation import examine

ABSENT: Any = object()
"""Takes a field out."""

KEY = {"name": "keys", "key": "slurm.key"}
MINIMAL: dict[str, Json] = {
    "Controller": {"slurmKeyRef": KEY, "jwtKeyRef": KEY},
    "NodeSet": {"controllerRef": {"name": "slurm"}},
    "LoginSet": {"controllerRef": {"name": "slurm"}, "sssdConfRef": KEY},
    "RestApi": {"controllerRef": {"name": "slurm"}},
    "Accounting": {"slurmKeyRef": KEY, "jwtKeyRef": KEY, "storageConfig": {"host": "db", "passwordKeyRef": KEY}},
    "Token": {"username": "alice", "jwtKeyRef": KEY},
}
"""The least that each kind needs."""


def an_object(kind: str, name: str = "one", **spec: object) -> Json:
    """An object of a kind; fields of its spec are replaced, or taken out with ABSENT."""
    fields = {key: field for key, field in (MINIMAL[kind] | spec).items() if field is not ABSENT}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": fields}


def controller(**spec: object) -> Json:
    return an_object("Controller", "slurm", **spec)


def node_set(name: str = "gpu", **spec: object) -> Json:
    return an_object("NodeSet", name, **spec)


def errors_of(value: Json) -> list[str]:
    """What keeps an object from being used, as people read it."""
    return [str(problem) for problem in _problems(value, Severity.ERROR)]


def warnings_of(value: Json) -> list[str]:
    """What is said about an object that can be used all the same."""
    return [str(problem) for problem in _problems(value, Severity.WARNING)]


def _problems(value: Json, severity: Severity) -> list[Problem]:
    return [problem for problem in examine(value).problems if problem.severity is severity]
