"""A stream of small jobs that write down, outside of Slurm, that they ran."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.cluster.errors import ClusterError
from penstock.cluster.kube import KubeCluster, local
from penstock.engine import processes
from penstock.machine.inside import run_in_login
from penstock.machine.manifest import NAMESPACE

from .room import LEDGER, Room
from .victims import containers

# A name is given to one submission only; Slurm gives numbers again when it forgot a job that had one.
# `>>` of one short line is one write at the end of the file: no two jobs' lines mix.
_NOTE = f'echo "$SLURM_JOB_NAME $SLURM_JOB_ID ${{SLURM_RESTART_COUNT:-0}} $(date +%s.%N) $1" >> {LEDGER}/lines'
_SUBMIT = 25.0
"""Seconds for sbatch to answer; longer than slurmctld is away."""
_RUN = 12.0
"""Seconds: the longest job, and a moment to start it."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What we asked of Slurm, and whether it said yes."""

    name: str
    at: float
    number: str = ""
    """Slurm's own; empty when it did not answer, so that it may have taken the job or not."""


@dataclass(slots=True)
class Stream:
    """Jobs, submitted until told to stop."""

    room: Room
    seed: int
    submissions: list[Submission] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _count: int = 0

    async def run(self, *, abreast: int = 4) -> None:
        """Submit, a few at a time, so that jobs never wait long for others."""
        async with asyncio.TaskGroup() as group:
            for number in range(abreast):
                group.create_task(self._submit_all(random.Random(f"{self.seed}/{number}")))  # noqa: S311

    async def _submit_all(self, chance: random.Random) -> None:
        while not self.stopping.is_set():
            self._count += 1
            seconds = chance.choices(["0.2", "1", "9"], [60, 30, 10])[0]
            asked = await self._submit(f"chaos-{self._count}", seconds)
            self.submissions.append(asked)
            with suppress(TimeoutError):
                async with asyncio.timeout(chance.uniform(0.2, 1.6)):
                    await self.stopping.wait()
            if asked.number:
                await self._over(asked)

    def ended(self) -> set[str]:
        """The names of jobs that have run to an end."""
        lines = self.room.ledger.read_text().splitlines() if self.room.ledger.exists() else []
        return {line.split()[0] for line in lines if line.endswith(" ended")}

    async def _over(self, asked: Submission) -> None:
        """Wait for the end of a job, but no longer than one may take that is not lost."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_RUN):
                while not self.stopping.is_set() and asked.name not in self.ended():  # noqa: ASYNC110 - by a file
                    await asyncio.sleep(0.2)

    async def _submit(self, name: str, seconds: str) -> Submission:
        script = f"note() {{ {_NOTE}; }}; note began; sleep {seconds}; note ended"
        # Without a word on memory a job gets all that its node has.
        words = ["sbatch", "--parsable", "--no-requeue", "--mem=16M", f"--job-name={name}", "--output=/dev/null"]
        try:
            async with asyncio.timeout(_SUBMIT):
                code, said = await ask(self.room, [*words, "--chdir=/", "--wrap", script])
        except (ClusterError, TimeoutError) as problem:
            self.refusals.append(f"{name}: {str(problem) or 'no answer'}")
            return Submission(name, time.time())
        if code:
            self.refusals.append(f"{name}: {said.strip()}")
            return Submission(name, time.time())
        return Submission(name, time.time(), said.strip())


async def ask(room: Room, command: Sequence[str]) -> tuple[int, str]:
    """Run a command on the login node."""
    async with KubeCluster(local(room.layout.socket)) as cluster:
        return await run_in_login(cluster, command, namespace=NAMESPACE)


async def ends_of_slurmctld(room: Room, ends: list[float]) -> None:
    """Note whenever slurmctld ends, whoever made it: the engine does when its monitor was killed."""
    while True:
        alive = [init for _, _, init in containers(room.layout, "slurmctld") if processes.is_alive(init)]
        if alive:
            await processes.ended(alive[0])
            ends.append(time.time())
        await asyncio.sleep(0.1)
