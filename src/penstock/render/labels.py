"""Labels, annotations and owner references of the objects we make."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from penstock.api.kinds import API_VERSION, Kind
from penstock.api.objects import Json, Labels, TemplateMetadata

NAME = "app.kubernetes.io/name"
INSTANCE = "app.kubernetes.io/instance"
COMPONENT = "app.kubernetes.io/component"
MANAGED_BY = "app.kubernetes.io/managed-by"
SLINKY_COMPONENT = "slinky.slurm.net/component"
CLUSTER = "slinky.slurm.net/cluster"
HEADLESS = "service.kubernetes.io/headless"
ACTIVE = "controller.slinky.slurm.net/active"
POD_NAME = "nodeset.slinky.slurm.net/pod-name"
POD_INDEX = "nodeset.slinky.slurm.net/pod-index"
POD_HOSTNAME = "nodeset.slinky.slurm.net/pod-hostname"
POD_PROTECT = "nodeset.slinky.slurm.net/pod-protect"
SCALING_MODE = "nodeset.slinky.slurm.net/scaling-mode"
REGISTRATION = "nodeset.slinky.slurm.net/registration"
"""Label of workers: how they register, from their making on. Their set may say otherwise by now, or be gone."""
PIN = "nodeset.slinky.slurm.net/revision"
"""Annotation of a NodeSet: the number or the hash of the revision that its workers shall have, whatever it says."""
SHARED_ROOT = "slinky.slurm.net/shared-root"
"""Label of pods that have a shared root mounted: the name of its claim, or, if that is too long, a hash of it."""
CHANGE_CAUSE = "kubernetes.io/change-cause"
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
SLURM_KEY_HASH = "slinky.slurm.net/slurm-key-hash"
JWT_KEY_HASH = "slinky.slurm.net/jwt-key-hash"
JWKS_HASH = "slinky.slurm.net/jwks-hash"
SLURM_CONFIG_HASH = "slinky.slurm.net/slurm-config-hash"
SLURMDBD_CONFIG_HASH = "slinky.slurm.net/slurmdbd-conf-hash"
SSHD_CONFIG_HASH = "slinky.slurm.net/sshd-conf-hash"
SSSD_CONFIG_HASH = "slinky.slurm.net/sssd-conf-hash"
HOST_KEYS_HASH = "slinky.slurm.net/ssh-host-keys-hash"

_COMPONENTS = {
    "slurmctld": "controller",
    "slurmdbd": "accounting",
    "slurmrestd": "restapi",
    "slurmd": "worker",
    "login": "login",
    "shared-root": "shared-root",
}


def selector(app: str, owner: Kind) -> Labels:
    """The labels that select a component's pods. They can never change, so they are few."""
    return {NAME: app, INSTANCE: owner.metadata.name}


def selector_text(app: str, owner: Kind) -> str:
    """The same as one text, as a status and `kubectl -l` have it."""
    return ",".join(f"{name}={text}" for name, text in sorted(selector(app, owner).items()))


def component(app: str, owner: Kind) -> Labels:
    """The labels that every object of a component carries; the seeds' label stands beside Kubernetes' own."""
    return selector(app, owner) | {COMPONENT: _COMPONENTS[app], SLINKY_COMPONENT: app}


def metadata(
    name: str,
    owner: Kind,
    *,
    layers: Iterable[TemplateMetadata] = (),
    labels: Mapping[str, str],
    annotations: Mapping[str, str | None] | None = None,
    owners: Iterable[Json] | None = None,
) -> Json:
    """Metadata of an object: the CR's own, then each layer, then ours; later wins.

    Without a cluster there are no uids, and a reference without one would be a lie: it is left out.
    """
    stack = [TemplateMetadata(_inherited(owner.metadata.labels), _inherited(owner.metadata.annotations)), *layers]
    ours = {key: text for key, text in (annotations or {}).items() if text is not None}
    all_labels = {**_folded(layer.labels for layer in stack), **labels}
    all_annotations = {**_folded(layer.annotations for layer in stack), **ours}
    body: Json = {"name": name, "namespace": owner.metadata.namespace, "labels": dict(sorted(all_labels.items()))}
    if all_annotations:
        body["annotations"] = dict(sorted(all_annotations.items()))
    references = [reference for reference in ([owned(owner)] if owners is None else owners) if reference["uid"]]
    return body | ({"ownerReferences": references} if references else {})


def owned(owner: Kind) -> Json:
    """The owner reference of an object that goes when its CR goes, and before it if somebody waits for that."""
    return {**plain_owner(owner), "blockOwnerDeletion": True, "controller": True}


def plain_owner(owner: Kind) -> Json:
    """One of several owners: the object goes when the last of them goes.

    None of them waits for it: Kubernetes would take away the reference of one that waits, we would see an owner missing
    and write it again, and whoever deletes in the foreground might wait for ever.
    """
    return {"apiVersion": API_VERSION, "kind": owner.kind, "name": owner.metadata.name, "uid": owner.metadata.uid}


def digest(parts: Mapping[str, str | bytes]) -> str:
    """SHA-256 over values in key order, as Slinky reckons its roll triggers; nothing for nothing."""
    if not parts:
        return ""
    joined = b"".join(part if isinstance(part, bytes) else part.encode() for _, part in sorted(parts.items()))
    return hashlib.sha256(joined).hexdigest()


def key_digest(key: bytes | str | None) -> str | None:
    """SHA-256 of one key, if it is known."""
    raw = key.encode() if isinstance(key, str) else key
    return None if raw is None else hashlib.sha256(raw).hexdigest()


def _inherited(entries: Labels) -> Labels:
    """What of a CR's metadata its children inherit: not the notes that tools keep about the CR itself."""
    own = ("kubectl.kubernetes.io/last-applied-configuration", "meta.helm.sh/", PIN, CHANGE_CAUSE)
    return {key: text for key, text in entries.items() if not key.startswith(own)}


def _folded(layers: Iterable[Labels | None]) -> Labels:
    return {key: text for layer in layers for key, text in (layer or {}).items()}
