"""What the operator can do by now. People try, and judges judge, only that; one line here switches it on."""

from __future__ import annotations

from enum import Enum


class Can(Enum):
    """One thing that the operator can do."""

    CORDON = "a cordoned pod or machine is drained in Slurm, and given back"
    RETENTION = "claims have the owners of the retention matrix, whatever becomes of the policy"
    UPDATE = "workers of an old template are replaced as the strategy says"
    BOUND = "a drain has a timeout, after which jobs are requeued or cancelled"
    DELETION = "a deleted NodeSet drains its workers before it goes"
    MODES = "DaemonSet mode"
    MARKS = "pods say what Slurm says about their nodes"
    PARTITIONS = "the partition of a deleted NodeSet stays, closed, until no job names it"
    RETRY = "what meets a conflict is tried again, though nothing else happens"
    LAST_LOOK = "nothing is told to Slurm about a node without one more look at it"


ABLE = frozenset(
    {
        Can.CORDON,
        Can.RETENTION,
        Can.UPDATE,
        Can.BOUND,
        Can.DELETION,
        Can.MODES,
        Can.MARKS,
        Can.PARTITIONS,
        # Can.RETRY,
        # Can.LAST_LOOK,
    }
)
