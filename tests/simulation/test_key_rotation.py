"""A new slurm key goes to slurmdbd first, then to slurmctld; workers with jobs are not touched."""

from __future__ import annotations

import asyncio

import pytest

from penstock.render import labels

from .loop import simulated
from .manifests import JWT_KEY, SLURM_KEY, secret
from .world import World, cluster

NEW = "a-new-key-that-slurm-daemons-share-among-them"


@pytest.mark.parametrize(
    ("name", "file", "annotation"),
    [(SLURM_KEY, "slurm.key", labels.SLURM_KEY_HASH), (JWT_KEY, "jwt.key", labels.JWT_KEY_HASH)],
    ids=["slurm", "jwt"],
)
@simulated
async def test_slurmdbd_goes_first(name: str, file: str, annotation: str) -> None:
    async with cluster() as (here, _):
        here.kubernetes.delays.start = 20.0
        here.slurm.submit(2, 600)
        workers = {pod.metadata.uid for pod in here.sight.workers()}
        digest = labels.key_digest(NEW.encode())
        await here.apply([secret(name, **{file: NEW})])
        await here.until(lambda: _hash(here, "slurm-accounting", annotation) == digest, within=1)
        await asyncio.sleep(10)
        assert _hash(here, "slurm-controller", annotation) != digest
        assert "waits until slurmdbd" in here.sight.condition("Controller", "slurm", "Degraded")["message"]
        await here.until(lambda: _has_rolled(here, "slurm-accounting", annotation, digest))
        await here.until(lambda: _hash(here, "slurm-controller", annotation) == digest, within=1)
        await here.ready()
        assert {pod.metadata.uid for pod in here.sight.workers()} == workers
        assert len(here.slurm.running) == 2


def _hash(here: World, name: str, annotation: str) -> str | None:
    annotations: dict[str, str] = here.sight("StatefulSet", name).spec["template"]["metadata"]["annotations"]
    return annotations.get(annotation)


def _has_rolled(here: World, name: str, annotation: str, digest: str | None) -> bool:
    pod, workload = here.sight.get("Pod", f"{name}-0"), here.sight("StatefulSet", name)
    new = pod is not None and pod.metadata.annotations.get(annotation) == digest
    return new and workload.status.get("readyReplicas") == 1 == workload.status.get("updatedReplicas")


@simulated
async def test_the_others_follow() -> None:
    async with cluster() as (here, _):
        workers = {pod.metadata.uid for pod in here.sight.workers()}
        await here.apply([secret(SLURM_KEY, **{"slurm.key": NEW}), secret(JWT_KEY, **{"jwt.key": NEW})])
        await asyncio.sleep(60)
        await here.ready()
        digest = labels.key_digest(NEW.encode())
        hashes = {
            one.metadata.name: one.spec["template"]["metadata"]["annotations"]
            for kind in ("Deployment", "StatefulSet")
            for one in here.sight.all(kind)
        }
        assert hashes["slurm-login"][labels.SLURM_KEY_HASH] == digest
        assert hashes["slurm-restapi"][labels.JWT_KEY_HASH] == digest
        assert hashes["slurm-controller"][labels.SLURM_KEY_HASH] == digest
        assert {pod.metadata.uid for pod in here.sight.workers()} == workers
