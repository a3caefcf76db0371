"""What the operator can do by now. People try, and judges judge, only that; one line here switches it on."""

from __future__ import annotations

from enum import Enum


class Can(Enum):
    """One thing that the operator can do."""

    CORDON = "a cordoned pod or machine is drained in Slurm, and given back"
    RETENTION = "claims have the owners of the retention matrix, whatever becomes of the policy"
    UPDATE = "workers of an old template are replaced as the strategy says"
    WINDOW = "workers are replaced in a maintenance window"
    BOUND = "a drain has a timeout, after which jobs are requeued or cancelled"
    DELETION = "a deleted NodeSet drains its workers before it goes"
    MODES = "DaemonSet mode"
    MARKS = "pods say what Slurm says about their nodes"
    PARTITIONS = "the partition of a deleted NodeSet stays, closed, until no job names it"
    RETRY = "what meets a conflict is tried again, though nothing else happens"
    FRESH = "nothing goes for a wish that has been taken back while it was looked into"
    LAST_LOOK = "nothing is told to Slurm about a node without one more look at it"


ABLE = frozenset(
    {
        Can.CORDON,
        Can.RETENTION,
        Can.UPDATE,
        Can.WINDOW,
        Can.BOUND,
        Can.DELETION,
        Can.MODES,
        Can.MARKS,
        Can.PARTITIONS,
        Can.RETRY,
        Can.FRESH,
        Can.LAST_LOOK,
    }
)
