"""The cluster that `penstock up` makes when nobody says otherwise.

The same kinds that people write for Kubernetes: slurmctld, slurmdbd with MariaDB behind it, slurmrestd, a login node
and two workers. `penstock up --show` prints it, to begin one's own from.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.api.kinds import API_VERSION
from penstock.api.objects import Json

NAMESPACE = "slurm"
NAME = "slurm"
ROLES = ("slurm", "worker", "login", "mariadb")
KEYS = ("slurm-auth-slurm", "slurm-auth-jwt", "mariadb-password", "slurm-sssd-conf")
"""Secrets that are made once, when they are not there: a second `up` must not change a key."""
_NO_CGROUPS = {"cgroup.conf": "CgroupPlugin=disabled\n"}
_REFERENCE = {"controllerRef": {"name": NAME}}
_KEY_REFS = {
    "slurmKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"},
    "jwtKeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What can be asked of the default cluster on the command line."""

    images: dict[str, str]
    """Image by role: slurm, worker, login, mariadb."""
    workers: int = 2
    authorized_keys: Sequence[str] = ()
    """Who may log in as root at the login node."""
    walls: str = ""
    """Directory of the policies that workers read; empty where there is no such machine."""
    constrained: bool = False
    """Slurm holds jobs to their limits by cgroups; false where the machine's cannot be used by it."""


def default(wishes: Wishes) -> list[Json]:
    """Every object of the default cluster, but its keys."""
    return [
        *_mariadb(wishes.images["mariadb"]),
        *([] if wishes.constrained else [_object("ConfigMap", "slurm-cgroup", version="v1", data=_NO_CGROUPS)]),
        _object("Accounting", NAME, spec={
            **_KEY_REFS,
            "slurmdbd": {"image": wishes.images["slurm"]},
            "storageConfig": {
                "host": "mariadb", "username": "slurm", "database": "slurm_acct_db",
                "passwordKeyRef": {"name": "mariadb-password", "key": "password"},
            },
        }),
        _object("Controller", NAME, spec={
            **_KEY_REFS,
            "accountingRef": {"name": NAME},
            "slurmctld": {"image": wishes.images["slurm"]},
            "reconfigure": {"image": wishes.images["slurm"]},
            "sharedRoot": {"image": wishes.images["login"]},
            **({} if wishes.constrained else {"configFileRefs": [{"name": "slurm-cgroup"}]}),
        }),
        _object("RestApi", NAME, spec={**_REFERENCE, "slurmrestd": {"image": wishes.images["slurm"]}}),
        _object("NodeSet", "slurm-worker-compute", spec={
            **_REFERENCE,
            "replicas": wishes.workers,
            "slurmd": {"image": wishes.images["worker"]},
            "template": {"spec": {"hostname": "compute-"}},
            "oversubscribeNode": True,  # all workers share the one machine
            "pruneSlurmNodeRecords": "NodeNotFound",  # sinfo shows who is there
            **({"walls": {"hostPath": {"path": wishes.walls}}} if wishes.walls else {}),
            "partition": {"enabled": True, "config": "Default=YES MaxTime=UNLIMITED State=UP"},
        }),
        _object("LoginSet", "slurm-login", spec={
            **_REFERENCE,
            "login": {"image": wishes.images["login"]},
            "initconf": {"image": wishes.images["login"]},
            "rootSshAuthorizedKeys": "\n".join(wishes.authorized_keys),
            "sssdConfRef": {"name": "slurm-sssd-conf", "key": "sssd.conf"},
        }),
    ]  # fmt: skip


def usual_images(suite: str) -> dict[str, str]:
    """What images are called, without a look at those that are there."""
    release = {"forky": "26.05", "trixie": "24.11"}[suite]
    tags = dict.fromkeys(ROLES, release) | {"mariadb": suite}
    return {role: f"localhost/penstock/{role}:{tag}" for role, tag in tags.items()}


def keys(namespaces: Sequence[str] = (NAMESPACE,)) -> list[Json]:
    """New keys and passwords for each namespace; those that are there already stay."""
    return [key for namespace in namespaces for key in _keys(namespace)]


def _keys(namespace: str) -> list[Json]:
    values = {
        "slurm-auth-slurm": {"slurm.key": secrets.token_hex(32)},
        "slurm-auth-jwt": {"jwt.key": secrets.token_hex(32)},
        "mariadb-password": {"password": secrets.token_urlsafe(24)},
        "slurm-sssd-conf": {"sssd.conf": "[sssd]\nservices =\ndomains =\n"},
    }
    return [_object("Secret", name, version="v1", namespace=namespace, stringData=values[name]) for name in KEYS]


def _mariadb(image: str) -> list[Json]:
    labels = {"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": NAME}
    password = {"secretKeyRef": {"name": "mariadb-password", "key": "password"}}
    container: Json = {
        "name": "mariadb",
        "image": image,
        # Probes connect and hang up: neither their names nor their manners are of interest.
        "args": ["--skip-name-resolve", "--log-warnings=1"],
        "env": [
            {"name": "MARIADB_DATABASE", "value": "slurm_acct_db"},
            {"name": "MARIADB_USER", "value": "slurm"},
            {"name": "MARIADB_PASSWORD", "valueFrom": password},
        ],
        "ports": [{"name": "mariadb", "containerPort": 3306}],
        "readinessProbe": {"tcpSocket": {"port": "mariadb"}},
        "volumeMounts": [{"name": "data", "mountPath": "/var/lib/mysql"}],
    }
    claim: Json = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}},
    }
    stateful_set: Json = {
        "replicas": 1,
        "serviceName": "mariadb",
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [container], "automountServiceAccountToken": False},
        },
        "volumeClaimTemplates": [claim],
    }
    ports = [{"name": "mariadb", "port": 3306, "targetPort": "mariadb"}]
    return [
        _object("Service", "mariadb", version="v1", spec={"selector": labels, "ports": ports}),
        _object("StatefulSet", "mariadb", version="apps/v1", spec=stateful_set),
    ]


def _object(kind: str, name: str, *, version: str = API_VERSION, namespace: str = NAMESPACE, **fields: object) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **fields}
