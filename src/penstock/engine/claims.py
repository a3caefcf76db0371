"""Claims: each is a directory of this machine, with a life of its own.

```
claim appears ─> volume noted in the store ─> directory made ─> Bound
claim gone    ─> volume Released ─> directory moved to the trash ─> volume forgotten ─> trash emptied
```

A directory goes only when the store itself says that its claim is gone: its volume is still there, and names a claim
that is not. So a store that was lost, or is another one, never costs anybody's data. All kinds of storage are one here.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

from penstock import durable
from penstock.api.objects import Json
from penstock.cluster.errors import AlreadyExists, NotFound, NotYet, Refused
from penstock.cluster.port import Preconditions, Selection
from penstock.engine.workloads.context import Context
from penstock.engine.workloads.kinds import CLAIMS, MANAGER, PODS, VOLUMES, Claim, Volume

FINALIZER = "kubernetes.io/pvc-protection"
PROVISIONER = "penstock.io/directory"
STORAGE_CLASS = "penstock"
"""The one kind of storage that there is; claims may call it by any other name."""
_ANNOTATIONS = {
    "pv.kubernetes.io/bind-completed": "yes",
    "pv.kubernetes.io/bound-by-controller": "yes",
    "volume.kubernetes.io/storage-provisioner": PROVISIONER,
}
_TRASH = ".trash"
_HALF_MADE = ".half-made-"
"""Before the name of a directory that is being made; names of claims never begin so."""


class Claims:
    """The controller of claims and their volumes."""

    def __init__(self, context: Context, root: Path) -> None:
        self._context = context
        self._root = root

    def path(self, namespace: str, name: str) -> Path:
        """The directory of a claim; `NotYet` while it has none, with the reason."""
        claim = self._context.caches.claims.get(name, namespace)
        if claim is None:
            raise NotYet(f'persistentvolumeclaim "{name}" not found in namespace "{namespace}"')
        if not claim.bound:
            raise NotYet(f'persistentvolumeclaim "{name}" in namespace "{namespace}" is not bound yet')
        return self._directory(claim)

    async def prepare(self) -> None:
        """Before the first look: have a root that only we can enter, and finish what an earlier life threw away."""
        await asyncio.to_thread(self._prepare)

    async def look(self, namespace: str, name: str) -> None:
        """Do what is to be done for a claim."""
        claim = self._context.caches.claims.get(name, namespace)
        if claim is None:
            return
        if claim.leaving:
            await self._let_go(claim)
            return
        reason = refusal(claim)
        if reason and not claim.bound:
            self._context.events.warning(CLAIMS, claim, "ProvisioningFailed", reason)
            return
        claim = await self._noted(claim)
        await self._keep_volume(claim)
        await asyncio.to_thread(self._make, claim)
        await self._context.tell_status(CLAIMS, claim, claim.status, {**claim.status, **_status(claim)})

    async def look_at_volume(self, _: str, name: str) -> None:
        """Throw away a directory whose claim is gone; somebody who said `Retain` keeps it."""
        volume = self._context.caches.volumes.get(name)
        if volume is None or not _is_ours(volume):
            return
        if volume.metadata.deletion_timestamp is not None or not await self._is_released(volume):
            return
        if volume.spec.get("persistentVolumeReclaimPolicy") != "Delete":
            await self._context.tell_status(VOLUMES, volume, volume.status, {"phase": "Released"})
            return
        claimed = volume.spec["claimRef"]
        directory = _place(self._root, claimed["namespace"], claimed["name"], claimed["uid"])
        await asyncio.to_thread(self._throw_away, directory, name)
        with suppress(NotFound):
            await self._context.cluster.delete(VOLUMES, name, only_if=Preconditions(uid=volume.metadata.uid))

    async def _is_released(self, volume: Volume) -> bool:
        """Whether the store certainly has no claim that the volume belongs to: asked, not remembered."""
        claimed = volume.spec["claimRef"]
        try:
            there = await self._context.cluster.get(CLAIMS, claimed["name"], claimed["namespace"])
        except NotFound:
            return True
        return bool(there.metadata.uid != claimed["uid"])

    async def _let_go(self, claim: Claim) -> None:
        """Take our hand off a claim that is being deleted, once no pod that runs here has it."""
        meta = claim.metadata
        if FINALIZER not in meta.finalizers:
            return
        pods = await self._context.cluster.list(PODS, Selection(namespace=meta.namespace), limit=0)
        if any(pod.spec.node_name and meta.name in pod.claims for pod in pods.items):
            return
        rest = [one for one in meta.finalizers if one != FINALIZER]
        with suppress(NotFound):
            await self._patch(claim, {"resourceVersion": meta.resource_version, "finalizers": rest}, {})

    async def _noted(self, claim: Claim) -> Claim:
        """Write into a claim which volume it has, and hold it."""
        meta, name = claim.metadata, _volume_name(claim)
        held = FINALIZER in meta.finalizers and _ANNOTATIONS.items() <= meta.annotations.items()
        if held and claim.spec.volume_name == name:
            return claim
        if claim.spec.storage_class_name not in {None, STORAGE_CLASS}:
            told = (
                f'this machine has one kind of storage; storageClassName "{claim.spec.storage_class_name}" is as good'
            )
            self._context.events.normal(CLAIMS, claim, "StorageClassIgnored", told)
        finalizers = [*(one for one in meta.finalizers if one != FINALIZER), FINALIZER]
        metadata = {
            "resourceVersion": meta.resource_version, "finalizers": finalizers, "annotations": dict(_ANNOTATIONS),
        }  # fmt: skip
        return await self._patch(claim, metadata, {"volumeName": name})

    async def _patch(self, claim: Claim, metadata: Json, spec: Json) -> Claim:
        patch: Json = {"metadata": metadata} | ({"spec": spec} if spec else {})
        meta = claim.metadata
        return await self._context.cluster.patch(CLAIMS, meta.name, patch, namespace=meta.namespace, manager=MANAGER)

    async def _keep_volume(self, claim: Claim) -> None:
        """Have the volume in the store before there is a directory: what is not noted is never cleaned up."""
        name, spec = _volume_name(claim), self._volume_spec(claim)
        there = self._context.caches.volumes.get(name)
        if there is None:
            body = {"metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}}}
            with suppress(AlreadyExists):
                await self._context.cluster.create(VOLUMES, {**body, "spec": spec}, manager=MANAGER)
            return
        if there.spec.get("capacity") != spec["capacity"]:
            await self._context.cluster.patch(VOLUMES, name, {"spec": {"capacity": spec["capacity"]}}, manager=MANAGER)
        await self._context.tell_status(VOLUMES, there, there.status, {"phase": "Bound"})

    def _volume_spec(self, claim: Claim) -> Json:
        meta = claim.metadata
        return {
            "capacity": _capacity(claim),
            "accessModes": list(claim.spec.access_modes),
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": claim.spec.storage_class_name or STORAGE_CLASS,
            "volumeMode": "Filesystem",
            "hostPath": {"path": str(self._directory(claim)), "type": "Directory"},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "name": meta.name, "namespace": meta.namespace, "uid": meta.uid,
            },
        }  # fmt: skip

    def _directory(self, claim: Claim) -> Path:
        meta = claim.metadata
        return _place(self._root, meta.namespace, meta.name, meta.uid)

    def _prepare(self) -> None:
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in [*(self._root / _TRASH).glob("*"), *self._root.glob(f"*/{_HALF_MADE}*")]:
            shutil.rmtree(left, ignore_errors=True)

    def _make(self, claim: Claim) -> None:
        """Make the directory. Everybody may write there: its way in leads through the root, which is ours alone."""
        directory = self._directory(claim)
        if not directory.is_dir():
            # Moved to its place when it is right: whoever finds it there does not look at its mode again.
            fresh = directory.with_name(f"{_HALF_MADE}{directory.name}")
            fresh.mkdir(parents=True, exist_ok=True)
            fresh.chmod(0o777)
            fresh.rename(directory)
            durable.sync(directory.parent)

    def _throw_away(self, directory: Path, volume: str) -> None:
        """Move first, then delete: what is half deleted never stands where somebody may take it for whole."""
        trash = self._root / _TRASH
        trash.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            directory.rename(trash / volume)
        shutil.rmtree(trash / volume, ignore_errors=True)
        with suppress(OSError):  # Others live there, or nobody ever did.
            directory.parent.rmdir()


def refusal(claim: Claim) -> str:
    """Why a claim cannot have a directory; empty when it can. Pure."""
    spec = claim.spec
    if spec.volume_name and spec.volume_name != _volume_name(claim):
        return (
            f'volumeName "{spec.volume_name}": volumes on one machine are made for their claim and cannot be chosen; '
            "leave volumeName out"
        )
    if spec.storage_class_name == "":
        return 'storageClassName "" asks for a volume that somebody made before; leave it out to get a directory'
    if spec.volume_mode != "Filesystem":
        return f'volumeMode "{spec.volume_mode}": one machine has directories only; write Filesystem'
    if spec.selector:
        return "selector: volumes on one machine are made for their claim and cannot be selected; leave it out"
    if spec.data_source or spec.data_source_ref:
        return "dataSource: one machine cannot fill a volume from something else; leave it out and copy the files"
    return ""


def _place(root: Path, namespace: str, name: str, uid: str) -> Path:
    """Where the directory of a claim is; names that would lead elsewhere are nobody's."""
    parts = (namespace, f"{name}-{uid[:8]}")
    if any(not part or part.startswith(".") or "/" in part for part in parts):
        raise Refused(f"{namespace}/{name} is not the name of a claim")
    return root.joinpath(*parts)


def _is_ours(volume: Volume) -> bool:
    made_by = volume.metadata.annotations.get("pv.kubernetes.io/provisioned-by")
    return made_by == PROVISIONER and {"namespace", "name", "uid"} <= (volume.spec.get("claimRef") or {}).keys()


def _volume_name(claim: Claim) -> str:
    return f"pvc-{claim.metadata.uid}"


def _capacity(claim: Claim) -> Json:
    """What is asked for is what there is: a directory has no size of its own."""
    storage = claim.spec.resources.requests.get("storage")
    return {} if storage is None else {"storage": storage}


def _status(claim: Claim) -> Json:
    said: Json = {"phase": "Bound", "accessModes": list(claim.spec.access_modes), "capacity": _capacity(claim)}
    return {name: part for name, part in said.items() if part}
