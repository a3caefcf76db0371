"""What people do to a cluster. Nothing stands in their way: what is not there is simply left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from penstock.cluster.errors import AlreadyExists, ClusterError, NotFound
from penstock.operator.resources import CUSTOMS, MACHINES, PODS
from tests.simulation.loop import clock
from tests.simulation.manifests import NAMESPACE, Seen, machine
from tests.simulation.slurm import node_name
from tests.simulation.slurm_records import HALF, WHOLE

from . import rare
from .judges.drains import CORDONS
from .schedule import Set
from .stage import Stage, manifest

_Deed = Callable[[Stage, dict[str, Any]], Awaitable[None]]


async def act(stage: Stage, what: str, about: dict[str, Any]) -> None:
    """Do something. What the API server refuses people is their own affair; and a dead slurmctld hears nobody."""
    if what in _IN_SLURM and stage.slurmctld_dead:
        return
    with suppress(NotFound, AlreadyExists):
        await DEEDS[what](stage, about)
    stage.books.counted[what] += 1


async def _scale(stage: Stage, about: dict[str, Any]) -> None:
    await stage.here.scale(about["replicas"], _set(stage, about).full_name)


async def _submit(stage: Stage, about: dict[str, Any]) -> None:
    share = HALF if about["half"] else WHOLE
    stage.here.slurm.submit(about["count"], about["seconds"], nodes=about["nodes"], share=share, partition=about["set"])


async def _drain(stage: Stage, about: dict[str, Any]) -> None:
    pod = worker(stage, about)
    if pod is not None and node_name(pod) in stage.here.slurm.nodes:
        stage.here.slurm.change([node_name(pod)], {"state": ["DRAIN"], "reason": "admin: bad disk"})


async def _undrain(stage: Stage, about: dict[str, Any]) -> None:
    """Mostly what people drained; somebody who does not know better also gives back what we drain."""
    nodes = stage.here.slurm.nodes
    theirs = [name for name in stage.bench.drains.people if name in nodes]
    ours = [node.name for node in nodes.values() if node.drain and node.pod]
    names = theirs if theirs and about["worker"] % 3 else ours
    if names:
        stage.here.slurm.change([names[about["worker"] % len(names)]], {"state": ["UNDRAIN"]})


async def _delete_pod(stage: Stage, about: dict[str, Any]) -> None:
    if (pod := worker(stage, about)) is not None:
        await stage.here.store.delete(PODS, pod.metadata.name, namespace=NAMESPACE)


async def _edit(stage: Stage, about: dict[str, Any]) -> None:
    await _patch(stage, about, _edition(about["text"]))


def _edition(text: str) -> dict[str, Any]:
    return {"template": {"metadata": {"annotations": {"example.org/edition": text}}}}


async def _change_policy(stage: Stage, about: dict[str, Any]) -> None:
    await _patch(stage, about, about["policy"])


async def _ask_for_window(stage: Stage, about: dict[str, Any]) -> None:
    """Have a new template wait for a maintenance window that begins in so many seconds."""
    start = (clock() + timedelta(seconds=about["in"])).replace(microsecond=0)
    window = {"startTime": start.isoformat(), "duration": "1m"}
    strategy = {"type": "ScheduledUpdate", "scheduledUpdate": window}
    await _patch(stage, about, {"updateStrategy": strategy, **_edition(about["text"])})


async def _cordon_pod(stage: Stage, about: dict[str, Any]) -> None:
    if (pod := worker(stage, about)) is not None:
        await _annotate(stage, pod, {about["annotation"]: "true"})


async def _uncordon_pod(stage: Stage, about: dict[str, Any]) -> None:
    cordoned = [pod for pod in stage.workers() if any(name in pod.metadata.annotations for name in CORDONS)]
    if cordoned:
        await _annotate(stage, cordoned[about["worker"] % len(cordoned)], dict.fromkeys(CORDONS))


async def _annotate(stage: Stage, pod: Seen, annotations: dict[str, str | None]) -> None:
    patch = {"metadata": {"annotations": annotations}}
    await stage.here.store.patch(PODS, pod.metadata.name, patch, namespace=NAMESPACE, manager="kubectl")


async def _cordon_machine(stage: Stage, about: dict[str, Any]) -> None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    await _spec_of_machine(stage, about, {"unschedulable": True, "taints": [taint]})


async def _uncordon_machine(stage: Stage, about: dict[str, Any]) -> None:
    cordoned = [one.metadata.name for one in stage.here.sight.all("Node") if one.spec.get("unschedulable")]
    if cordoned:
        name = cordoned[about["machine"] % len(cordoned)]
        await _spec_of_machine(stage, {"machine": name}, {"unschedulable": None, "taints": None})


async def _spec_of_machine(stage: Stage, about: dict[str, Any], spec: dict[str, Any]) -> None:
    name = str(about["machine"]) if isinstance(about["machine"], str) else f"machine-{about['machine']}"
    await stage.here.store.patch(MACHINES, name, {"spec": spec}, manager="kubectl")


async def _delete_machine(stage: Stage, about: dict[str, Any]) -> None:
    """It dies, and is back some time later, under its name."""
    name = f"machine-{about['machine']}"
    await stage.here.store.delete(MACHINES, name)

    async def back() -> None:
        await asyncio.sleep(about["for"])
        await stage.here.apply([machine(name)], manager="kubelet")

    stage.meanwhile(back())


async def _delete_set(stage: Stage, about: dict[str, Any]) -> None:
    await stage.here.store.delete(CUSTOMS["NodeSet"], _set(stage, about).full_name, namespace=NAMESPACE)


async def _make_set(stage: Stage, about: dict[str, Any]) -> None:
    """Make it anew, if need be when the one before is gone."""
    one = _set(stage, about)

    async def make() -> None:
        body = manifest(one, replicas=about["replicas"])
        while True:
            try:
                await stage.here.store.create(CUSTOMS["NodeSet"], body, manager="kubectl")
            except AlreadyExists:
                there = stage.here.sight("NodeSet", one.full_name)
                if there.metadata.deletion_timestamp is None:
                    return
            except ClusterError:
                return
            else:
                return
            await asyncio.sleep(2)

    stage.meanwhile(make())


async def _patch(stage: Stage, about: dict[str, Any], spec: dict[str, Any]) -> None:
    await stage.here.edit("NodeSet", _set(stage, about).full_name, spec=spec)


def _set(stage: Stage, about: dict[str, Any]) -> Set:
    return next(one for one in stage.cluster.sets if one.name == about["set"])


def worker(stage: Stage, about: dict[str, Any]) -> Seen | None:
    """One of the workers of a set that nobody has deleted."""
    prefix = f"{_set(stage, about).full_name}-"
    pods = [pod for pod in stage.workers() if pod.metadata.name.startswith(prefix)]
    return pods[about["worker"] % len(pods)] if pods else None


_IN_SLURM = {"submit jobs", "drain in Slurm", "undrain in Slurm", "suspend a job"}
DEEDS: dict[str, _Deed] = {
    "scale": _scale,
    "submit jobs": _submit,
    "drain in Slurm": _drain,
    "undrain in Slurm": _undrain,
    "delete a pod": _delete_pod,
    "delete a machine": _delete_machine,
    "edit the template": _edit,
    "change the policy": _change_policy,
    "ask for a window": _ask_for_window,
    "cordon a pod": _cordon_pod,
    "uncordon a pod": _uncordon_pod,
    "cordon a machine": _cordon_machine,
    "uncordon a machine": _uncordon_machine,
    "delete the NodeSet": _delete_set,
    "make the NodeSet": _make_set,
    "suspend a job": rare.suspend,
    "delete the NodeSet with its jobs": rare.delete_with_jobs,
    "break the Controller": rare.break_controller,
    "take a worker's name": rare.take_name,
    "change the scaling mode": rare.change_mode,
}
