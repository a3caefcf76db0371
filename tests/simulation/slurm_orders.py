"""What the model of slurmrestd does about jobs: signals to those of some nodes or of a partition, requeues, comments.

Answers are those that `tests/played` read off the real one.
"""

from __future__ import annotations

from penstock.api.objects import Json
from penstock.slurm import hostlist

from .slurm import OPERATOR, Slurm
from .slurm_records import Job

NO_SIGNAL, KILL, REQUEUE = "0", "KILL", "requeue"


def signalled(slurm: Slurm, body: Json) -> Json:
    """Send a signal, of which 0 is only a question, and tell to whom."""
    reached = _meant(slurm, body)
    for job in reached:
        if body["signal"] != NO_SIGNAL:
            slurm.on_order(job, body["signal"], OPERATOR)
        if body["signal"] == KILL:
            slurm.cancel(job.number)
    return {
        "status": [
            {"step_id": str(job.number), "job_id": {"set": True, "number": job.number}, "error": {"code": 0}}
            for job in reached
        ]
    }


def _meant(slurm: Slurm, body: Json) -> list[Job]:
    nodes = {name for text in body.get("nodes", ()) for name in hostlist.expand(text)}
    live = [job for job in slurm.jobs if job.ended is None]
    if nodes:
        live = [job for job in live if job.runs and nodes & set(job.nodes)]
    if "jobs" in body:
        live = [job for job in live if str(job.number) in body["jobs"]]
    return [job for job in live if body.get("partition") in {None, job.partition}]


def requeued(slurm: Slurm, body: Json) -> tuple[Json, int]:
    """Put jobs back into the queue; those that are over or wait are told."""
    faults = list[Json]()
    for name in body["jobs"]:
        job = slurm.jobs[int(name)]
        if job.runs and job.requeues:
            slurm.on_order(job, REQUEUE, OPERATOR)
            slurm.requeue(job.number)
        else:
            number, words = (2084, "Job has already finished") if job.ended else (2024, "Job is pending execution")
            number, words = (2037, "Requested operation is presently disabled") if job.runs else (number, words)
            faults.append({"error_number": number, "error": words, "description": f"Requeue JobId={name} failed"})
    return {"errors": faults}, 422 if faults else 200


def changed(slurm: Slurm, number: int, body: Json) -> None:
    """Release a job, or write a comment on it."""
    if body == {"hold": False}:
        slurm.release(number)
    slurm.jobs[number].comment = body.get("admin_comment", slurm.jobs[number].comment)
