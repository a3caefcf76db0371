"""What Slurm shows of a job that it started twice, and of the node that refused the second start.

slurmctld saves its state some seconds late. Killed in between, it comes back not knowing that a job runs, and starts it
once more. slurmd says "already running, do not launch second copy". slurmctld then ends the first copy, puts the job
back into the queue and on hold, and drains the node, with which nothing is wrong. Nobody but a person ever undoes that.

Read off the REST API of 26.05 (v0.0.45) and 24.11 (v0.0.42), which agree:

    node    state IDLE DRAIN, COMPLETING too while the first copy ends; reason "Duplicate jobid";
            reason_set_by_user "slurm"; reason_changed_at is the second of the refusal. A drain in somebody's own words
            takes the place of these; a node that somebody had drained before keeps theirs.
    job     PENDING, COMPLETING too while the first copy ends, up to KillWait and more; hold true; priority 0;
            state_reason JobHeldUser; state_description "launch failed requeued held"; last_sched_evaluation is the
            second of the refusal or the one before; it has no nodes, and the node does not name it.
            An administrator's hold makes state_reason JobHeldAdmin and keeps the description. A release empties it, and
            no later hold brings it back. A hold by the job's owner on top of Slurm's own leaves no trace at all.
            Released, it starts when its credential has certainly expired: cred_expire + 1 seconds after the requeue,
            which is 121 by default.

All of it outlives further restarts of slurmctld. A job with `--no-requeue` is cancelled instead; its node is drained
all the same. If a slurmd registers before the job is started again, slurmctld ends the first copy ("Registered
PENDING") and starts the job later, without a drain or a hold.

Other failed starts hold a job with the same words, a failed prolog for one. Those are told apart by the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from penstock.slurm.rest.messages import JobReport, JobStateReport, NodeReport

DUPLICATE = "Duplicate jobid"
"""Slurm's reason, to the letter."""
_SLURM_USER = "slurm"
_HELD_BY_SLURM = ("JobHeldUser", "launch failed requeued held")
_LAUNCH_SECONDS = 120
"""Longer after its scheduling a start is refused for another cause: its credential has expired (cred_expire)."""


def refusals(nodes: Iterable[NodeReport]) -> dict[str, int]:
    """The nodes that Slurm itself drained because they refused a second start, and when they did."""
    return {node.name: node.reason_changed_at.number for node in nodes if _refused(node)}


def _refused(node: NodeReport) -> bool:
    # 24.11 keeps the reason when the drain is over.
    return node.reason == DUPLICATE and node.reason_set_by_user == _SLURM_USER and node.condition.drain


def candidates(jobs: Iterable[JobStateReport]) -> list[int]:
    """Jobs that may have been refused, by all that their state tells: they wait, and are not many tasks in one."""
    waiting = Counter(job.record for job in jobs if job.condition.pending)
    return sorted(number for number, tasks in waiting.items() if number is not None and tasks == 1)


def held_for(job: JobReport, moments: Iterable[int]) -> bool:
    """Whether a job is on hold for nothing but that a node refused it in one of these moments."""
    if not job.hold or (job.state_reason, job.state_description) != _HELD_BY_SLURM:
        return False
    tried = job.last_sched_evaluation.value
    return tried is not None and any(0 <= moment - tried <= _LAUNCH_SECONDS for moment in moments)
