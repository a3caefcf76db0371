"""How a StatefulSet or Deployment of ours is doing, as conditions of the kind that owns it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.operator.conditions import Cause, Condition, summary
from penstock.operator.resources import Pod, Workload


def health(
    workload: Workload | None,
    pods: Iterable[Pod],
    *,
    daemon: str,
    degraded: Cause | None = None,
    progressing: Cause | None = None,
) -> list[Condition]:
    """Ready when as many pods are as are wanted; else what keeps them. `progressing`: what else is under way."""
    if workload is None:
        cause = degraded or Cause("Creating", f"The pods of {daemon} are being made.")
        return summary(ready=cause, progressing=None if degraded else cause, degraded=degraded, well=cause.message)
    wanted, status = workload.spec.replicas, workload.status
    well = f"{wanted} of {wanted} {daemon} pods are ready."
    if workload.rolled_out:
        return summary(ready=None, progressing=progressing, degraded=degraded, well=well)
    troubles = [f"{pod.metadata.name}: {pod.trouble}" for pod in pods if pod.trouble]
    message = f"{status.ready_replicas} of {wanted} {daemon} pods are ready, {status.updated_replicas} are up to date."
    waits = Cause("RollingOut", " ".join([message, *troubles[:3]]))
    trouble = Cause("PodsInTrouble", "; ".join(troubles[:3])) if troubles else None
    # While an update rolls, the pods that are ready still serve.
    serving = status.ready_replicas >= wanted > 0
    return summary(
        ready=None if serving else waits,
        progressing=waits,
        degraded=degraded or trouble,
        well=well if serving else message,
    )


def carries(workload: Workload | None, annotations: Mapping[str, str | None]) -> bool:
    """Whether a workload has been given these annotations, and all its pods have them."""
    if workload is None or not workload.rolled_out:
        return False
    given = workload.spec.template.metadata.annotations
    return all(given.get(name) == text for name, text in annotations.items() if text is not None)
