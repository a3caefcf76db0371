"""Orders about jobs that the played slurmrestd takes: signals to those of nodes or of a partition, and requeues."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.slurm import hostlist

from .slurm_answers import NOT_FOUND, Answer, Writer
from .slurm_model import JOB_OVER, NO_SUCH_JOB, Job, Model, Refusal, Release

_NOT_NOW = Refusal(2020, "Job can not be altered now, try again later")
_ELSEWHERE = Refusal(2172, "Cannot signal job")
_WAITS = Refusal(2024, "Job is pending execution")
_DISABLED = Refusal(2037, "Requested operation is presently disabled")
_LIVE = {"PENDING", "RUNNING", "SUSPENDED"}
_ENDS = {"KILL": "CANCELLED", "TERM": "FAILED"}
"""What becomes of a job that does not mind signals."""


def answer(writer: Writer, version: str, path: str, wanted: dict[str, Any]) -> Answer:
    """Answer DELETE jobs/ or POST jobs/requeue."""
    if path == "jobs":
        meant = _meant(writer.model, wanted)
        told = [_signalled(writer.model, job, wanted["signal"]) for job in meant]
        told += [_told(int(name), _ELSEWHERE) for name in wanted.get("jobs", ()) if int(name) not in _numbers(meant)]
        return writer.good(version, status=told if "VERBOSE" in wanted.get("flags", ()) else [])
    if writer.model.release is Release.R24_11:
        return NOT_FOUND
    return _requeued(writer, version, wanted["jobs"])


def comment(model: Model, number: int, text: str) -> None:
    """Write an administrator's comment."""
    model.jobs[number] = replace(model.job(number), comment=text)


def _meant(model: Model, wanted: dict[str, Any]) -> list[Job]:
    """Jobs that are over, and those that wait where nodes are named, are not meant."""
    nodes = {name for text in wanted.get("nodes", ()) for name in hostlist.expand(text)}
    live = [job for job in model.jobs.values() if job.state in _LIVE]
    if nodes:
        live = [job for job in live if job.state != "PENDING" and nodes & set(job.nodes)]
    if "jobs" in wanted:
        live = [job for job in live if str(job.number) in wanted["jobs"]]
    return [job for job in live if wanted.get("partition") in {None, *job.partition.split(",")}]


def _signalled(model: Model, job: Job, signal: str) -> dict[str, Any]:
    refused = job.state != "RUNNING" and signal != "KILL"
    if not refused and signal in _ENDS:
        model.end_job(job.number, _ENDS[signal])
    return _told(job.number, _NOT_NOW if refused else None)


def _told(job: int, why: Refusal | None) -> dict[str, Any]:
    """What is said of a job that was meant, and why nothing was done about it."""
    words = why.words if why else "No error"
    error = {"string": words, "code": why.number if why else 0, "message": words if why else ""}
    number = {"set": True, "infinite": False, "number": job}
    return {"error": error, "step_id": str(job), "job_id": number, "federation": {"sibling": ""}}


def _numbers(jobs: list[Job]) -> set[int]:
    return {job.number for job in jobs}


def _requeued(writer: Writer, version: str, names: list[str]) -> Answer:
    refused = {name: why for name in names if (why := _requeue(writer.model, int(name))) is not None}
    if not refused:
        return writer.good(version, status=[])
    first = next(iter(refused.values()))
    return writer.problems(
        version,
        {f"Requeue JobId={name} failed": why for name, why in refused.items()},
        "op_handler_jobs_requeue",
        404 if first is NO_SUCH_JOB else 422,
    )


def _requeue(model: Model, number: int) -> Refusal | None:
    job = model.jobs.get(number)
    if job is None:
        return NO_SUCH_JOB
    if job.state not in _LIVE:
        return JOB_OVER
    if job.state == "PENDING":
        return _WAITS
    if not job.requeues:
        return _DISABLED
    model.end_job(number, "PENDING")
    return None
