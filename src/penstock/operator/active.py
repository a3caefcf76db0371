"""Which of several slurmctlds is the active one: the Service in front of them leads to the pod with this label.

The first in order that answers is it: a backup takes over when those before it are silent, and gives back when they
return. While nobody can be asked, the label stays where it is; before anybody could, the first pod has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from penstock.api.controller import Controller
from penstock.cluster.errors import NotFound
from penstock.operator.context import Context
from penstock.operator.resources import PODS, Pod
from penstock.render import labels, names
from penstock.slurm.rest.errors import SlurmError
from penstock.slurm.rest.messages import PingReport

ASK_AGAIN = 10.0
"""Seconds: a backup that has taken over is found in this time, or sooner when a pod's readiness tells."""


async def mark(context: Context, controller: Controller, pods: Sequence[Pod]) -> None:
    """Give the label to the active pod, and take it from the others."""
    try:
        answers = await (await context.slurm.client(controller)).ping()
    except SlurmError:
        answers = []
    active = choose(controller, pods, answers)
    if active is None:
        return
    # First to the new one: for a moment two are better than none.
    for pod in sorted(pods, key=lambda pod: pod.metadata.name != active):
        wanted = "true" if pod.metadata.name == active else None
        if pod.metadata.labels.get(labels.ACTIVE) != wanted:
            patch = {"metadata": {"labels": {labels.ACTIVE: wanted}}}
            with suppress(NotFound):
                await context.cluster.patch(PODS, pod.metadata.name, patch, namespace=pod.metadata.namespace)


def choose(controller: Controller, pods: Sequence[Pod], answers: Sequence[PingReport]) -> str | None:
    """The name of the active pod; None when nothing shall change."""
    order = [names.controller_pod(controller, ordinal) for ordinal in range(controller.spec.replicas)]
    responding = {one.hostname.partition(".")[0] for one in answers if one.responding}
    for name in order:
        if name in responding:
            return name
    marked = any(pod.metadata.labels.get(labels.ACTIVE) for pod in pods)
    return None if marked or not pods else order[0]
