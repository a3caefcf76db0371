"""What we ask about jobs, and tell them: by what they have in common, so that nobody has to list them all.

slurmctld itself finds the jobs of some nodes, or of a partition, and tells which ones it found. The signal 0 does
nothing to a job, so it is a question. Only jobs that wait, run or are suspended are found that way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from penstock.slurm import hostlist
from penstock.slurm.jobstate import Base
from penstock.slurm.rest.errors import SlurmNotFound, SlurmRefused
from penstock.slurm.rest.exchange import Exchange
from penstock.slurm.rest.messages import (
    Answer,
    Fault,
    JobReached,
    JobReport,
    JobsAnswer,
    JobsReachedAnswer,
    JobStateReport,
    JobStatesAnswer,
)

NO_SIGNAL, KILL = "0", "KILL"
_REQUEUES = ("v0.0.45",)
"""Versions of the API in which jobs can be requeued: Slurm 26.05 has them first."""
_CANNOT = frozenset({2037, 2039})
"""Why a job is not requeued, in Slurm's numbers: it has --no-requeue, or no script (salloc, srun)."""
_NEED_NOT = frozenset({2017, 2021, 2024, 2084})
"""The same of jobs that are gone, over, or back in the queue."""
_ELSEWHERE = 2172
"""What is told of a job that was named and is on none of the nodes."""
_COUNTED = 200
"""Jobs that are read to count those of a partition; of more it is only found out whether one names it."""
_LIVE = {Base.PENDING, Base.RUNNING, Base.SUSPENDED}
_NAMED = re.compile(r"JobId=(\S+)")


class Jobs(Exchange):
    """The client's part about jobs."""

    async def job_states(self) -> list[JobStateReport]:
        """Every job with its state, and nothing else of it."""
        return list((await self._get("jobs/state/", JobStatesAnswer)).jobs or ())

    async def job(self, number: int) -> JobReport:
        """One job, or `SlurmNotFound`. Slurm answers for an array's first number with all tasks of the array."""
        path = f"job/{number}"
        jobs = (await self._get(path, JobsAnswer)).jobs
        found = next((job for job in jobs if job.job_id == number), None)
        if found is None:
            raise SlurmNotFound(f"{path}: Slurm knows no such job")
        return found

    async def release_job(self, number: int) -> None:
        """Take the hold off a job, whoever put it there."""
        await self._change("POST", f"job/{number}", {"hold": False})

    async def comment_job(self, number: int, text: str) -> None:
        """Write the comment of administrators: `scontrol show job`, `squeue -O admin_comment`; the user's own stays."""
        await self._change("POST", f"job/{number}", {"admin_comment": text})

    async def jobs_on(self, nodes: Iterable[str]) -> list[JobReached]:
        """Jobs that run on nodes or are suspended there; a node with suspended jobs alone says that it is idle."""
        return await self.signal_jobs(nodes, NO_SIGNAL)

    async def signal_jobs(
        self, nodes: Iterable[str], signal: str, *, only: Collection[str] | None = None
    ) -> list[JobReached]:
        """Send a signal to all jobs that are on any of these nodes, to their scripts too, and tell which ones.

        `KILL` cancels them as scancel does: SIGTERM, and SIGKILL after KillWait. A job on several nodes gets it on all.
        `only`: to these of them and no others, named as in `JobReached.step_id`.
        """
        hosts = hostlist.compress(nodes)
        if not hosts or (only is not None and not only):
            return []  # Slurm would take that for all nodes, or all jobs
        flags = ["VERBOSE"] if signal == KILL else ["VERBOSE", "FULL_JOB"]
        body = {"nodes": [hosts], "signal": signal, "flags": flags, **({"jobs": sorted(only)} if only else {})}
        told = (await self._order("DELETE", "jobs/", body, JobsReachedAnswer)).status
        return [one for one in told if one.error.code != _ELSEWHERE]

    async def can_requeue(self) -> bool:
        """Whether this slurmrestd can."""
        return await self.version() in _REQUEUES

    async def requeue_jobs(self, names: Iterable[str]) -> dict[str, str]:
        """Put jobs back into the queue, and tell which ones cannot be, and why; `SlurmConflict` when one cannot now.

        Jobs are named as in `JobReached.step_id`: by the number of an array all of its tasks would be meant.
        """
        if not await self.can_requeue():
            raise SlurmRefused(
                f"slurmrestd {await self.version()} cannot requeue jobs, Slurm 26.05 can; use drain.onTimeout: Cancel"
            )
        # The parts of a heterogeneous job go together, and only the first can be named.
        leaders = list(dict.fromkeys(name.partition("+")[0] for name in names))
        if not leaders:
            return {}
        answer = await self._order("POST", "jobs/requeue", {"jobs": leaders}, Answer, forgive=_CANNOT | _NEED_NOT)
        return {_job_of(fault): fault.error for fault in answer.errors if fault.error_number in _CANNOT}

    async def partition_jobs(self, name: str) -> int:
        """How many jobs' records name a partition: of jobs that wait or run, and if there are none, that are over.

        It is 0 only when no record names it; above that, of jobs that are over it may be fewer than there are.
        """
        body = {"partition": name, "signal": NO_SIGNAL, "flags": ["VERBOSE"]}
        live = (await self._order("DELETE", "jobs/", body, JobsReachedAnswer)).status
        return len(live) or await self._ended_in(name)

    async def _ended_in(self, partition: str) -> int:
        """Read the jobs that are over, one by one: a list of all would cost slurmrestd gigabytes."""
        unread = {job.record for job in await self.job_states() if _may_be_over(job)}
        found, read = 0, set[int]()
        for number in sorted(number for number in unread if number is not None):
            if number in read:
                continue
            try:
                tasks = (await self._get(f"job/{number}", JobsAnswer)).jobs
            except SlurmNotFound:
                continue  # forgotten since
            found += sum(partition in job.partition.split(",") for job in tasks if job.job_id not in read)
            read |= {job.job_id for job in tasks}
            if found and len(read) >= _COUNTED:
                break
        return found


def _may_be_over(job: JobStateReport) -> bool:
    state = job.condition
    return state.base not in _LIVE or bool(state.flags or state.unfamiliar)


def _job_of(fault: Fault) -> str:
    """Slurm names the job in its words only."""
    named = _NAMED.search(fault.description)
    return named[1] if named else fault.description
