"""Which pods of a StatefulSet to make and to delete: Kubernetes' own rules, as a pure function over one moment.

In order, unless `Parallel` is asked for: a pod is made when all before it are ready, one too many goes when all are,
the highest first. Updates go from the highest ordinal down to the partition and wait for each pod to be available.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from penstock.engine.workloads.bounds import share
from penstock.engine.workloads.kinds import Pod, StatefulSetSpec

REVISION = "controller-revision-hash"
"""Label: the name of the template that a pod was made from."""
SHORT_LIFE = 10.0
"""Seconds from the making of a pod before another takes the place of one that has ended: one that always ends at once
must not be made anew as fast as we can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A StatefulSet at one moment."""

    spec: StatefulSetSpec
    current: str
    """The revision that pods below the partition have."""
    update: str
    """The revision of the template as it is now."""
    pods: Mapping[int, Pod]
    now: datetime

    @property
    def ordinals(self) -> range:
        """The ordinals that are wanted."""
        start = self.spec.ordinals.start
        return range(start, start + self.spec.replicas)

    @property
    def condemned(self) -> list[Pod]:
        """Pods that are one too many, the highest first."""
        return [self.pods[ordinal] for ordinal in sorted(self.pods, reverse=True) if ordinal not in self.ordinals]

    def available(self, pod: Pod) -> bool:
        """Whether a pod serves, and stays."""
        return pod.available(self.spec.min_ready_seconds, self.now) and not pod.leaving


@dataclass(frozen=True, slots=True)
class Create:
    """Make the pod of an ordinal from a revision."""

    ordinal: int
    revision: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a pod."""

    pod: Pod
    why: str


@dataclass(slots=True)
class Plan:
    """What is to be done now."""

    create: list[Create] = field(default_factory=list)
    delete: list[Delete] = field(default_factory=list)
    again: float | None = None
    """Seconds after which time alone may have changed the plan."""


def plan(now: Situation) -> Plan:
    """Decide."""
    made = Plan(again=_next_moment(now))
    in_order = now.spec.pod_management_policy != "Parallel"
    if not (_fill(now, made, in_order=in_order) or _shrink(now, made, in_order=in_order)):
        made.delete += _update(now, made)
    return made


def _fill(now: Situation, made: Plan, *, in_order: bool) -> bool:
    """Make what is missing and what has ended; tells whether all the rest waits for it."""
    for ordinal in now.ordinals:
        pod = now.pods.get(ordinal)
        if pod is None:
            made.create.append(Create(ordinal, _revision_for(now, ordinal)))
        elif pod.ended and not pod.leaving and _age(now, pod) >= SHORT_LIFE:
            made.delete.append(Delete(pod, f"it has ended: {pod.status.phase}"))
        if in_order and (pod is None or not now.available(pod)):
            return True
    return False


def _revision_for(now: Situation, ordinal: int) -> str:
    strategy = now.spec.update_strategy
    below = ordinal < now.spec.ordinals.start + strategy.rolling_update.partition
    return now.current if strategy.type == "RollingUpdate" and below else now.update


def _shrink(now: Situation, made: Plan, *, in_order: bool) -> bool:
    """Delete what is too many; tells whether all the rest waits for it."""
    unhealthy = next((pod for pod in reversed(now.condemned) if not now.available(pod)), None)
    for pod in now.condemned:
        # One that has ended will never be well, so it is not waited for; Kubernetes waits all the same.
        waits = pod.leaving or not (now.available(pod) or pod.ended or pod is unhealthy)
        if in_order and waits:
            return True
        if not pod.leaving:
            made.delete.append(Delete(pod, "scale-in"))
            if in_order:
                return True
    return False


def _update(now: Situation, made: Plan) -> Iterator[Delete]:
    """Pods of an old template that may go now."""
    strategy = now.spec.update_strategy
    if strategy.type != "RollingUpdate":
        return
    going = {one.pod.metadata.name for one in made.delete}
    unavailable = sum(1 for ordinal in now.ordinals if not _serves(now, ordinal, going))
    room = _at_once(now) - unavailable
    for ordinal in reversed(now.ordinals):
        pod = now.pods.get(ordinal)
        if pod is None or ordinal < now.spec.ordinals.start + strategy.rolling_update.partition:
            continue
        if _is_old(now, pod) and not pod.leaving and pod.metadata.name not in going:
            # One that does not serve costs nothing, and may be what the new template mends.
            serves = now.available(pod)
            if serves and room <= 0:
                continue
            room -= serves
            yield Delete(pod, "update")


def _serves(now: Situation, ordinal: int, going: set[str]) -> bool:
    pod = now.pods.get(ordinal)
    return pod is not None and now.available(pod) and pod.metadata.name not in going


def _at_once(now: Situation) -> int:
    """How many pods an update may have out of service."""
    asked = now.spec.update_strategy.rolling_update.max_unavailable
    return 1 if asked is None else max(1, share(asked, now.spec.replicas, up=False))


def _is_old(now: Situation, pod: Pod) -> bool:
    return pod.metadata.labels.get(REVISION) != now.update


def _age(now: Situation, pod: Pod) -> float:
    made = pod.metadata.creation_timestamp
    return (now.now - datetime.fromisoformat(made)) / timedelta(seconds=1) if made else SHORT_LIFE


def _next_moment(now: Situation) -> float | None:
    """When a pod has been ready, or ended, for long enough."""
    pods = [pod for pod in now.pods.values() if not pod.leaving]
    waits: Sequence[float | None] = [pod.available_in(now.spec.min_ready_seconds, now.now) for pod in pods]
    ended = [SHORT_LIFE - _age(now, pod) for pod in pods if pod.ended]
    # A pod that goes anyway need not be waited for, but a look too many does no harm.
    return min((wait for wait in [*waits, *ended] if wait and wait > 0), default=None)
