"""What Slurm shows of a job that it started twice, and of its node: asserted of the real ones and of the played one."""

from __future__ import annotations

from penstock.slurm.rest.messages import JobReport, NodeReport


def as_slurm_shows_it(node: NodeReport, job: JobReport) -> None:
    """Assert all that `penstock/slurm/refused.py` says of them when the first run has ended."""
    assert set(node.state) - {"DYNAMIC_NORM"} == {"IDLE", "DRAIN"}
    assert (node.reason, node.reason_set_by_user) == ("Duplicate jobid", "slurm")
    assert job.job_state == ("PENDING",)
    assert (job.state_reason, job.state_description, job.hold) == ("JobHeldUser", "launch failed requeued held", True)
    assert job.last_sched_evaluation.value is not None
    assert 0 <= node.reason_changed_at.number - job.last_sched_evaluation.number <= 5
