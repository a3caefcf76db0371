"""Jobs that Slurm started twice after a crash of slurmctld: released, and their nodes given back.

`slurm/refused.py` has what Slurm shows of them. The nodes that are asked for anyway tell whether there is anything to
do, so at rest this costs nothing. The node does not name the job, and a list of all jobs with all of their fields would
be too much for slurmrestd. So the states of all jobs are asked for, which are small, and then those that wait are read
one by one, some per look. The node comes last: its reason is what an operator that starts in the middle begins from.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.api.controller import Controller
from penstock.operator.context import Context
from penstock.operator.customs import Key
from penstock.operator.resources import CUSTOMS
from penstock.operator.slurm import AFTER_FAILURE, AT_REST, IN_A_HURRY
from penstock.operator.slurm_links import slurm_key
from penstock.slurm import hostlist
from penstock.slurm.refused import DUPLICATE, candidates, held_for, refusals
from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.errors import SlurmError, SlurmNotFound, SlurmRefused
from penstock.slurm.rest.messages import JobReport

_LOG = logging.getLogger(__name__)
_PER_LOOK = 250
"""Jobs read in one look; it takes about a second."""
_SHOWN = 20
"""Jobs named in an event."""
GIVEN_BACK = "penstock: undrained, slurmctld had crashed and started a job twice"
"""Reason that replaces Slurm's, for 24.11 keeps the old one, and who drains without a word must not be mistaken."""

_NODES = (
    f'{{nodes}}: drained by Slurm ("{DUPLICATE}"), because slurmctld was killed and started a job again that ran there'
    " already. Nothing is wrong there; it takes jobs again."
)
_JOBS = (
    "slurmctld was killed before it had saved that these jobs run, and started them again: {jobs}. That was refused on"
    " {nodes}; Slurm ended the first run and held the jobs. They are released and run again from their beginning, two"
    " minutes after that at the earliest."
)


@dataclass(slots=True)
class _Search:
    """The jobs that some nodes refused."""

    refused: dict[str, int]
    """The nodes, and when."""
    unread: deque[int] | None = None
    """Jobs that they may have refused; None: Slurm has not been asked."""
    ending: deque[int] = field(default_factory=deque)
    """Jobs that they did refuse, and whose first copy still ends."""
    released: list[int] = field(default_factory=list)
    """Jobs that nobody has been told of."""


class Duplicates:
    """The searches of all Controllers."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._searches: dict[Key, _Search] = {}

    def forget(self, key: Key) -> None:
        """A Controller is gone."""
        self._searches.pop(key, None)

    async def heal(self, controller: Controller) -> float | None:
        """Take the next step, if a node refused a job; tells in how many seconds to come again, or None."""
        key, known = slurm_key(controller), self._context.slurm.nodes(controller)
        refused = refusals(known.nodes.values()) if known else {}
        if not refused:
            self.forget(key)
            return None
        search = self._searches.get(key)
        if search is None or search.refused != refused:
            search = self._searches[key] = _Search(refused)
            if not self._context.slurm.rehearses:
                # Slurm may be in the middle of it: the job is found when it is back in the queue.
                return IN_A_HURRY
        try:
            return await self._go_on(controller, search)
        except SlurmError as error:
            _LOG.warning("Slurm of Controller %s/%s: jobs that were started twice: %s", key[1], key[2], error)
            return AFTER_FAILURE

    async def _go_on(self, controller: Controller, search: _Search) -> float:
        client = await self._context.slurm.client(controller)
        if search.unread is None:
            search.unread = deque(candidates(await client.job_states()))
        try:
            await self._read(controller, client, search, search.unread)
        finally:
            self._tell_released(controller, search)
        if search.unread:
            return IN_A_HURRY
        if not search.ending:
            return await self._give_back(controller, client, search)
        search.unread, search.ending = search.ending, deque()
        return IN_A_HURRY

    async def _read(self, controller: Controller, client: SlurmRest, search: _Search, unread: deque[int]) -> None:
        """Judge some jobs, in a rehearsal all, for that looks only once."""
        for _ in range(len(unread) if self._context.slurm.rehearses else min(len(unread), _PER_LOOK)):
            with suppress(SlurmNotFound):
                job = await client.job(unread[0])
                if held_for(job, search.refused.values()):
                    await self._refused(controller, search, job)
            unread.popleft()

    async def _refused(self, controller: Controller, search: _Search, job: JobReport) -> None:
        if job.condition.holds_node:
            search.ending.append(job.job_id)
            return
        try:
            await self._context.slurm.release(controller, job.job_id)
            search.released.append(job.job_id)
        except SlurmRefused as error:
            # It may have ended a moment ago; or there is something to do for a person.
            self._warn(controller, "JobNotReleased", f"job {job.job_id}, held by Slurm, is not released: {error}")

    async def _give_back(self, controller: Controller, client: SlurmRest, search: _Search) -> float:
        """Undrain, after one more look: somebody may have made the drain their own a moment ago.

        Nodes whose workers are about to go are left alone: they are gone in a while, or stay after all.
        """
        with self._context.slurm.way(controller).give_back(search.refused) as free:
            now = refusals([await client.node(name) for name in search.refused if name in free])
            still = [name for name, moment in now.items() if search.refused[name] == moment]
            if still:
                await self._context.slurm.change(controller, still, state=["UNDRAIN"], reason=GIVEN_BACK)
                self._warn(controller, "NodesGivenBack", _NODES.format(nodes=hostlist.compress(still)))
        if len(free) < len(search.refused):
            return AT_REST
        self.forget(slurm_key(controller))
        return IN_A_HURRY

    def _tell_released(self, controller: Controller, search: _Search) -> None:
        if search.released:
            more = len(search.released) - _SHOWN
            jobs = ", ".join(map(str, search.released[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
            nodes = hostlist.compress(search.refused)
            self._warn(controller, "JobsReleased", _JOBS.format(jobs=jobs, nodes=nodes))
            search.released.clear()

    def _warn(self, controller: Controller, reason: str, note: str) -> None:
        meta = controller.metadata
        item = self._context.caches.find(("Controller", meta.namespace, meta.name))
        if item is not None and not self._context.slurm.rehearses:
            self._context.events.warning(CUSTOMS["Controller"], item, reason, note)
