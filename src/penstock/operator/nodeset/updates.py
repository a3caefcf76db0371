"""Which workers of an old template leave now, so that new ones take their places. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from penstock.api.nodeset import UpdateType
from penstock.operator.nodeset.order import cost
from penstock.operator.nodeset.reservation import in_window
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Cause, Leaving
from penstock.operator.resources import Pod


def outdated(now: Snapshot, staying: Sequence[Pod]) -> list[Leaving]:
    """Workers of an old template that shall leave now.

    One that is not ready serves nobody, and leaves at once. Of the others as many as may be missing beside those, or
    those for which the maintenance window is open.
    """
    old = [pod for pod in staying if not now.is_current(pod) and not pod.ended]
    strategy = now.node_set.spec.update_strategy.type
    if not old or not now.rolls or strategy is UpdateType.ON_DELETE:
        return []
    well = [pod for pod in old if pod.ready_since is not None]
    picked = [pod for pod in old if pod.ready_since is None]
    if strategy is UpdateType.SCHEDULED_UPDATE:
        picked += [pod for pod in well if (one := now.report(pod)) is not None and in_window(one, now.node_set)]
    else:
        picked += sorted(well, key=lambda pod: cost(now, pod))[: budget(now, staying)]
    return [Leaving(pod, Cause.UPDATE, f"template {now.revision} takes its place") for pod in picked]


def budget(now: Snapshot, staying: Sequence[Pod]) -> int:
    """How many workers that are well may leave for an update: as many as may be missing, less those that are.

    Also one of an old template is missing as long as it is not well: it may have come for the edit before this one.
    """
    allowed = now.node_set.spec.update_strategy.rolling_update.max_unavailable.of(now.desired)
    empty = max(now.desired - len(staying), 0)
    unwell = sum(not is_available(pod, now) for pod in staying)
    return max(allowed - empty - unwell, 0)


def is_available(pod: Pod, now: Snapshot) -> bool:
    """Whether a worker has been ready for long enough."""
    return pod.ready_since is not None and not pod.ended and not _fresh(pod, now)


def _fresh(pod: Pod, now: Snapshot) -> bool:
    seconds = now.node_set.spec.min_ready_seconds
    if not seconds or not pod.ready_since or now.moment is None:
        return False
    return datetime.fromisoformat(pod.ready_since) + timedelta(seconds=seconds) > now.moment


def current(now: Snapshot, pods: Iterable[Pod]) -> int:
    """How many workers say that they are of the newest template."""
    return sum(pod.metadata.labels.get(HASH) == now.revision for pod in pods)
