"""Objects in one line each: `node_set("gpu", replicas=2)`, with the fields as manifests spell them.

Everything passes validation on its way in, unless a test says `unchecked`: then the renderer stands alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller
from penstock.api.kinds import API_VERSION, Kind
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.api.restapi import RestApi
from penstock.api.scalars import decode_scalar
from penstock.api.token import Token
from penstock.api.validation import decode
from penstock.render.contract import SlurmVersion
from penstock.render.everything import Rendered, render
from penstock.render.inventory import Cluster, Inventory, References
from penstock.render.names import Domain

SLURM_KEY = {"name": "keys", "key": "slurm.key"}
JWT_KEY = {"name": "keys", "key": "jwt.key"}
SSSD = {"name": "sssd", "key": "sssd.conf"}
REF = {"name": "slurm"}
SECRETS = {
    ("hpc", "keys"): {"slurm.key": b"the-slurm-key", "jwt.key": b"the-jwt-key"},
    ("hpc", "keys-ring"): {"slurm.jwks": b"the-ring-of-keys"},
    ("hpc", "sssd"): {"sssd.conf": b"the-ldap-password"},
    ("hpc", "database"): {"password": b"the-database-password"},
}
SLINKY = {"image": "ghcr.io/slinkyproject/slurmd:26.05-ubuntu26.04"}

K = TypeVar("K", Controller, NodeSet, LoginSet, RestApi, Accounting, Token)


def controller(
    name: str = "slurm", *, unchecked: bool = False, metadata: Json | None = None, **spec: Any
) -> Controller:
    """Make a Controller with its keys."""
    return _made(Controller, name, {"slurmKeyRef": SLURM_KEY, "jwtKeyRef": JWT_KEY} | spec, metadata, unchecked)


def node_set(name: str = "compute", *, unchecked: bool = False, metadata: Json | None = None, **spec: Any) -> NodeSet:
    """Make a NodeSet of the Controller `slurm`."""
    return _made(NodeSet, name, {"controllerRef": REF} | spec, metadata, unchecked)


def login_set(name: str = "login", *, unchecked: bool = False, metadata: Json | None = None, **spec: Any) -> LoginSet:
    """Make a LoginSet of the Controller `slurm`."""
    return _made(LoginSet, name, {"controllerRef": REF, "sssdConfRef": SSSD} | spec, metadata, unchecked)


def rest_api(name: str = "slurm", *, metadata: Json | None = None, **spec: Any) -> RestApi:
    """Make a RestApi of the Controller `slurm`."""
    return _made(RestApi, name, {"controllerRef": REF} | spec, metadata)


def token(name: str = "robot", **spec: Any) -> Token:
    """Make a Token."""
    return _made(Token, name, {"jwtKeyRef": JWT_KEY, "username": "slurm"} | spec)


def accounting(
    name: str = "slurm",
    *,
    unchecked: bool = False,
    metadata: Json | None = None,
    storage: Json | None = None,
    **spec: Any,
) -> Accounting:
    """Make an Accounting with its database."""
    database = {"host": "mariadb", "username": "slurm", "passwordKeyRef": {"name": "database", "key": "password"}}
    ours = {"slurmKeyRef": SLURM_KEY, "jwtKeyRef": JWT_KEY, "storageConfig": database | (storage or {})}
    return _made(Accounting, name, ours | spec, metadata, unchecked)


def cluster(
    *node_sets: NodeSet,
    owner: Controller | None = None,
    books: Accounting | None = None,
    config_maps: Mapping[str, Mapping[str, str]] | None = None,
    secrets: Mapping[tuple[str, str], Mapping[str, bytes]] = SECRETS,
    release: str | None = None,
    **spec: Any,
) -> Cluster:
    """Make a cluster around one Controller, whose spec can be given here; ConfigMaps go by name."""
    known = {("hpc", name): files for name, files in (config_maps or {}).items()}
    return Cluster(
        controller=owner or controller(**spec),
        accounting=books,
        node_sets=node_sets,
        references=References(config_maps=known, secrets=secrets),
        release=SlurmVersion.parse(release) if release else None,
    )


def rendered(*kinds: Kind, config_maps: Mapping[str, Mapping[str, str]] | None = None) -> Rendered:
    """Render everything that objects make together."""
    known = {("hpc", name): files for name, files in (config_maps or {}).items()}
    references = References(config_maps=known, secrets=SECRETS)
    return render(Inventory.of(kinds, references=references, domain=Domain()))


def everything(**variations: Json) -> list[Kind]:
    """Make one of each kind, with most of what they can do; `slurmd={...}` and the like add to a kind's spec."""
    own = variations.get
    return [
        controller(
            accountingRef=REF,
            sharedRoot={},
            metrics={"enabled": True, "serviceMonitor": {"enabled": True, "endpoints": [{"path": "/metrics/jobs"}]}},
            **(own("controller") or {}),
        ),
        accounting(**(own("accounting") or {})),
        rest_api(**(own("rest_api") or {})),
        login_set(strategy={"type": "Recreate"}, **(own("login_set") or {})),
        node_set(
            replicas=2,
            ssh={"enabled": True, "sssdConfRef": SSSD},
            partition={"enabled": True},
            volumeClaimTemplates=[claim("scratch")],
            slurmd={**(own("slurmd") or {}), "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]},
            **(own("node_set") or {}),
        ),
        token(),
    ]


def slinky_everything() -> list[Kind]:
    """Make one of each kind with Slinky's published images."""
    image = "ghcr.io/slinkyproject/{}:26.05-ubuntu26.04".format
    return everything(
        controller={"slurmctld": {"image": image("slurmctld")}},
        accounting={"slurmdbd": {"image": image("slurmdbd")}},
        rest_api={"slurmrestd": {"image": image("slurmrestd")}},
        login_set={"login": {"image": image("login")}},
        slurmd={"image": image("slurmd")},
    )


def claim(name: str, **spec: Any) -> Json:
    """Write a claim template."""
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
    return {"metadata": {"name": name}, "spec": size | spec}


def with_secret(secret: str, key: str) -> Cluster:
    """Make a cluster in which one Secret holds something else."""
    return cluster(secrets={**SECRETS, ("hpc", secret): {**SECRETS["hpc", secret], key: b"another"}})


def changed(before: Json, after: Json) -> set[str]:
    """Name the hashes that differ between two sets of annotations; both have the same ones."""
    assert before.keys() == after.keys()
    return {key.removeprefix("slinky.slurm.net/") for key in before if before[key] != after[key]}


def one(manifests: Iterable[Json], kind: str, name: str | None = None) -> Json:
    """Find the only object of a kind, or the one of that name."""
    found = [each for each in manifests if each["kind"] == kind and name in {None, each["metadata"].get("name")}]
    assert len(found) == 1, f"{len(found)} x {kind} {name or ''}"
    return found[0]


def pods_of(manifests: Iterable[Json]) -> Iterator[tuple[str, Json]]:
    """Every pod spec among objects, with a name for messages, and the claims that its StatefulSet adds."""
    for each in manifests:
        spec = each.get("spec", {})
        body = spec if each["kind"] == "Pod" else spec.get("template", {}).get("spec")
        if body:
            yield f"{each['kind']} {each['metadata'].get('name')}", body


def container(pod: Json, name: str) -> Json:
    """Find a container of a pod by its name, ordinary or init."""
    return next(each for each in [*pod["containers"], *pod.get("initContainers", [])] if each["name"] == name)


def _made(struct: type[K], name: str, spec: Json, metadata: Json | None = None, unchecked: bool = False) -> K:
    identity = {"name": name, "namespace": "hpc"} | (metadata or {})
    body = {"apiVersion": API_VERSION, "kind": struct.kind, "metadata": identity, "spec": spec}
    if unchecked:
        return msgspec.convert(body, struct, dec_hook=decode_scalar)
    made = decode(body)
    assert isinstance(made, struct)
    return made
