"""Who leaves first, when some must: a pure order of workers, cheapest first.

1. ended; 2. without a machine; 3. draining for us already; 4. not ready; 5. lower `pod-deletion-cost`; 6. idle before
busy, and of the busy ones those whose `pod-deadline` comes first: without one nobody knows when the jobs end, and they
count as the last to do so; 7. drained or cordoned by somebody; 8. of an old template; 9. higher ordinal; 10. by name.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from penstock.operator.nodeset.drains import is_cordoned, is_our_drain
from penstock.operator.nodeset.snapshot import Snapshot, ordinal
from penstock.operator.resources import Pod

DELETION_COST = "nodeset.slinky.slurm.net/pod-deletion-cost"
DEADLINE = "nodeset.slinky.slurm.net/pod-deadline"
"""When the jobs of a worker will have ended, RFC 3339: whoever knows may write it there. Without a zone it is UTC."""

Cost = tuple[Any, ...]


def cost(now: Snapshot, pod: Pod) -> Cost:
    """What it costs to lose a worker."""
    report, cordoned = now.report(pod), is_cordoned(now, pod)
    busy, drains = (True, False) if report is None else (report.condition.busy, report.condition.drain)
    return (
        # It goes in any case: were it not the one too many, a good worker would go as well.
        not pod.ended,
        bool(pod.spec.node_name),
        # One that drains for us goes on doing so: else two would be on their way for one that is too many.
        not (drains and not cordoned and report is not None and is_our_drain(report)),
        pod.ready_since is not None,
        _deletion_cost(pod),
        busy,
        _deadline(pod) if busy else 0.0,
        not (drains or cordoned),
        now.is_current(pod),
        -ordinal(pod),
        pod.metadata.name,
    )


def _deletion_cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0


def _deadline(pod: Pod) -> float:
    """When its jobs will have ended, in Unix seconds; later than all else when nobody says so, or none can read it."""
    if (written := pod.metadata.annotations.get(DEADLINE)) is None:
        return math.inf
    try:
        # RFC 3339 allows small letters, and Python knows no "z".
        moment = datetime.fromisoformat(written.strip().upper())
    except ValueError:
        return math.inf
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
