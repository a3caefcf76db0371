"""In which order the pods of a cluster begin."""

from __future__ import annotations

import msgspec

from penstock.engine.podspec import Pod
from penstock.engine.precedence import LATER, rank, rank_of_surroundings, serves_others
from penstock.engine.turns import URGENT


def made(name: str, by: str, app: str = "") -> Pod:
    """A pod, its owner, and what it is."""
    owner = {"apiVersion": "v1", "kind": by, "name": "o", "uid": "u", "controller": True}
    labels = {"app.kubernetes.io/name": app}
    metadata = {"name": name, "namespace": "slurm", "uid": name, "ownerReferences": [owner], "labels": labels}
    return msgspec.convert({"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "x"}]}}, Pod)


def test_those_that_people_wait_for_begin_first() -> None:
    """The controller and its workers; databases can wait, and who talks to all of them most of all."""
    pods = [
        made("slurm-login-x", "ReplicaSet", "login"),
        made("slurm-worker-compute-0", "NodeSet", "slurmd"),
        made("mariadb-0", "StatefulSet", "mariadb"),
        made("slurm-controller-0", "StatefulSet", "slurmctld"),
    ]
    ordered = sorted(pods, key=rank)
    assert [pod.metadata.name for pod in ordered] == [
        "slurm-controller-0",
        "slurm-worker-compute-0",
        "mariadb-0",
        "slurm-login-x",
    ]
    assert [rank(pod)[0] < LATER for pod in ordered] == [True, True, False, False]
    assert rank(ordered[0])[0] == URGENT


def test_names_are_there_before_those_who_ask_for_them() -> None:
    """A controller waits a second for a name without an address, and not at all for one that has one."""
    database, worker = made("mariadb-0", "StatefulSet"), made("w-0", "NodeSet")
    assert rank_of_surroundings(database) < rank(worker) < rank_of_surroundings(worker)
    assert rank_of_surroundings(database)[0] < LATER, "not kept back"


def test_whom_others_depend_on_ends_last() -> None:
    assert [serves_others(made("x", by)) for by in ("StatefulSet", "NodeSet", "ReplicaSet")] == [True, False, False]
