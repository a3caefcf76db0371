"""The auth/slurm key as pods hold it: a ring (slurm.jwks), which can change while they run, or the bare slurm.key.

The ring of a key is a Secret beside the key's own, which the operator writes (`operator/keyring.py`): in the end it
holds that key alone, and during a rotation the old one too. Pods that know only slurm.key work beside a ring that signs
with the same key, and have to be replaced for another one:

- those of Slinky's images, whose entry points ask for slurm.key;
- all of a cluster whose slurmctld is such a one, or runs elsewhere: nobody would tell them to read their rings again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import msgspec

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller
from penstock.api.kinds import Kind
from penstock.api.objects import Json, SecretKeySelector
from penstock.render import labels, pods
from penstock.render.contract import ImageContract, contract_of
from penstock.render.inventory import Cluster, Inventory, References
from penstock.render.services import secret
from penstock.slurm.keyring import FILE

_USUAL_KEY = "slurm.key"

FOLLOW = """\
trap 'exit 0' TERM
while :; do
    cmp -s /mnt/slurm/slurm.jwks /etc/slurm/slurm.jwks ||
        { install -m 600 /mnt/slurm/slurm.jwks /etc/slurm/.new && mv -f /etc/slurm/.new /etc/slurm/slurm.jwks; }
    sleep 2
done
"""
"""For a daemon that is not root: Slurm takes no ring but one that its own user alone may read, and no volume can give
that. So somebody copies it, and goes on doing so."""


def ring_of(key: SecretKeySelector) -> SecretKeySelector:
    """Where the ring of a key is found."""
    # Of several keys in one Secret each has a ring; what a key is called may not be fit for the name of a Secret.
    other = "" if key.key == _USUAL_KEY else f"-{hashlib.sha256(key.key.encode()).hexdigest()[:8]}"
    return msgspec.structs.replace(key, name=f"{key.name}-ring{other}", key=FILE)


def ring_reference(kind: Kind) -> SecretKeySelector | None:
    """The ring that daemons of a kind may hold; unlike what people refer to it is made, and missing at first."""
    key = kind.spec.slurm_key_ref if isinstance(kind, Controller | Accounting) else None
    return ring_of(key) if key else None


def turns(cluster: Cluster) -> bool:
    """Whether a cluster's key can change while it runs."""
    return not cluster.controller.spec.external and not cluster.contract.supervised


def holds_ring(cluster: Cluster, contract: ImageContract) -> bool:
    """Whether pods of these conventions, in this cluster, hold a ring and not slurm.key."""
    return turns(cluster) and not contract.supervised


def keeps_ring(accounting: Accounting) -> bool:
    """Whether slurmdbd holds a ring."""
    return not accounting.spec.external and not _contract(accounting).supervised


def source(cluster: Cluster, contract: ImageContract) -> Json | None:
    """The file of a pod that says who it is."""
    return _source(cluster.controller.spec.slurm_key_ref, ring=holds_ring(cluster, contract))


def accounting_source(accounting: Accounting) -> Json | None:
    """The same, of slurmdbd."""
    return _source(accounting.spec.slurm_key_ref, ring=keeps_ring(accounting))


def _source(key: SecretKeySelector | None, *, ring: bool) -> Json | None:
    return pods.from_secret(ring_of(key), FILE) if key and ring else pods.from_secret(key, _USUAL_KEY)


def key_hash(cluster: Cluster, contract: ImageContract) -> str | None:
    """What rolls a pod that reads its key once; nothing for one that follows its ring."""
    if holds_ring(cluster, contract):
        return None
    return labels.key_digest(cluster.references.secret_value(cluster.namespace, cluster.controller.spec.slurm_key_ref))


def slurmctld_hash(cluster: Cluster) -> str | None:
    """The same, of slurmctld. Only the one that leads is reconfigured; of several all are rolled, one by one."""
    if turns(cluster) and cluster.controller.spec.replicas > 1:
        return ring_hash(cluster.references, cluster.namespace, cluster.controller.spec.slurm_key_ref)
    return key_hash(cluster, cluster.contract)


def slurmdbd_hash(accounting: Accounting, references: References) -> str | None:
    """The same, of slurmdbd, which is restarted for a new ring: slurmctld keeps what it has to say meanwhile."""
    namespace, key = accounting.metadata.namespace, accounting.spec.slurm_key_ref
    if keeps_ring(accounting):
        return ring_hash(references, namespace, key)
    return labels.key_digest(references.secret_value(namespace, key))


def ring_hash(references: References, namespace: str, key: SecretKeySelector | None) -> str | None:
    """The digest of a key's ring, if it is known."""
    return labels.key_digest(references.secret_value(namespace, ring_of(key))) if key else None


def holders(inventory: Inventory, namespace: str, key: SecretKeySelector) -> list[Controller | Accounting]:
    """Whose daemons hold the ring of a key; it goes when the last of them goes."""
    found: list[Controller | Accounting] = [
        one for one in inventory.controllers if not inventory.is_assumed(one) and turns(inventory.cluster(one))
    ]
    found += [one for one in inventory.accountings if keeps_ring(one)]
    return [one for one in found if one.metadata.namespace == namespace and _same(one.spec.slurm_key_ref, key)]


def _same(one: SecretKeySelector | None, other: SecretKeySelector) -> bool:
    return one is not None and (one.name, one.key) == (other.name, other.key)


def rings(inventory: Inventory) -> Iterator[Json]:
    """The Secrets of all rings, bare: what is in them is decided in the cluster."""
    kinds: list[Controller | Accounting] = [*inventory.controllers, *inventory.accountings]
    keys = {(one.metadata.namespace, key.name, key.key): key for one in kinds if (key := one.spec.slurm_key_ref)}
    for (namespace, *_), key in sorted(keys.items(), key=lambda pair: pair[0]):
        if held_by := holders(inventory, namespace, key):
            yield manifest(namespace, key, held_by, None)


def manifest(
    namespace: str, key: SecretKeySelector, held_by: Iterable[Controller | Accounting], text: str | None
) -> Json:
    """The Secret of a ring. It outlives the key's own, which people may delete and make anew to change it."""
    owners = [owner for one in held_by if (owner := labels.plain_owner(one))["uid"]]
    metadata: Json = {"name": ring_of(key).name, "namespace": namespace}
    return secret(metadata | ({"ownerReferences": owners} if owners else {}), None if text is None else {FILE: text})


def _contract(accounting: Accounting) -> ImageContract:
    return contract_of(accounting.spec.image_contract, accounting.spec.slurmdbd.get("image"))
