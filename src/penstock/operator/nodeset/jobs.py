"""Doing what `bounded` decides about the jobs of leaving workers: warn, requeue, cancel.

Slurm is asked for its nodes once more, and decided upon anew, right before anything is done: nothing is worse than a
job that is ended on old news. Before that it is asked for the jobs, and no others are ended: who came since then came
to a node that somebody has given back, however long Slurm took to tell of all nodes. What was done is noted on the
nodes last, so that who dies in between does it again.

A warning is a comment on the job, and a signal. Jobs that shall be requeued get SIGCONT, which ends nobody: SIGTERM
would make of a job that does not mind it a failed one, before it could be requeued. Jobs that shall be cancelled get
SIGCONT and SIGTERM, as Slurm itself does it at the beginning of a GraceTime.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from penstock.api.controller import Controller
from penstock.api.nodeset import Drain, DrainTimeoutAction
from penstock.operator.context import Context
from penstock.operator.nodeset.bounded import Act, Order, Terms, bounded
from penstock.operator.resources import CUSTOMS, Custom
from penstock.slurm import hostlist
from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.errors import SlurmConflict, SlurmError, SlurmRefused
from penstock.slurm.rest.jobs import KILL
from penstock.slurm.rest.messages import JobReached

_OURS = "penstock: "
_BESIDE = " | "
"""What stands between a comment that was there and ours."""
_SHOWN = 20
"""Jobs named in an event."""
_SIGNALS = {DrainTimeoutAction.REQUEUE: ("CONT",), DrainTimeoutAction.CANCEL: ("CONT", "TERM")}
_FATES = {DrainTimeoutAction.REQUEUE: "requeued", DrainTimeoutAction.CANCEL: "cancelled"}
_CANNOT = (
    "jobs that outlast drain.timeout are waited for: slurmrestd {version} has no way to requeue them, Slurm 26.05 has;"
    " or say drain.onTimeout: Cancel"
)
StillWished = Callable[[], Awaitable[bool]]
"""Whether people wish what they wished when it was decided."""
_REASONS = {Act.WARN: "JobsWarned", Act.REQUEUE: "JobsRequeued", Act.CANCEL: "JobsCancelled"}


@dataclass(slots=True)
class Carried:
    """What came of it."""

    troubles: list[str] = field(default_factory=list)
    """What Slurm did not answer, or could not do at the moment: to be tried again."""
    refusals: list[str] = field(default_factory=list)
    """What it will not do until somebody changes something."""


@dataclass(frozen=True, slots=True)
class Duty:
    """Whose jobs they are, and by what terms they may be ended."""

    context: Context
    item: Custom
    controller: Controller
    terms: Terms
    still_wished: StillWished

    @property
    def policy(self) -> Drain:
        """What becomes of the jobs."""
        return self.terms.policy


@dataclass(frozen=True, slots=True)
class _Confirmed:
    """What holds at this moment."""

    orders: Sequence[Order] = ()
    jobs: frozenset[str] = frozenset()
    """Jobs that were there before the nodes were told, as Slurm calls them."""


async def carry_out(duty: Duty, orders: Sequence[Order]) -> Carried:
    """Do to the jobs of leaving workers what these orders say, as far as it still holds; one failure ends no other."""
    carried = Carried()
    if not orders:
        return carried
    try:
        confirmed = await _confirmed(duty, {name for order in orders for name in order.nodes})
    except SlurmRefused as error:
        return Carried(refusals=[str(error)])
    except SlurmError as error:
        return Carried(troubles=[str(error)])
    for order in confirmed.orders:
        if not await duty.still_wished():
            break  # whoever leaves may stay after all: decide anew
        try:
            carried.refusals += await _do(duty, order, confirmed.jobs)
        except SlurmRefused as error:
            carried.refusals.append(str(error))
        except SlurmError as error:
            carried.troubles.append(str(error))
    return carried


async def _confirmed(duty: Duty, nodes: set[str]) -> _Confirmed:
    """What is to be done by what Slurm says at this moment, and by its clock at this moment."""
    client = await duty.context.slurm.client(duty.controller)
    if duty.policy.on_timeout is DrainTimeoutAction.REQUEUE and not await client.can_requeue():
        # Nobody is warned of what cannot come.
        raise SlurmRefused(_CANNOT.format(version=await client.version()))
    jobs = frozenset(job.step_id for job in await client.jobs_on(nodes))
    answer = await client.nodes()
    if answer is None:
        return _Confirmed()
    there = [one for one in answer.nodes.values() if one.name in nodes]
    return _Confirmed(bounded(duty.terms, there, answer.updated).orders, jobs)


async def _do(duty: Duty, order: Order, known: Collection[str]) -> list[str]:
    """Do one order, and note it on the nodes; tells what Slurm refused."""
    slurm, hosts = duty.context.slurm, hostlist.compress(order.nodes)
    refusals = list[str]()

    async def give(client: SlurmRest) -> list[JobReached]:
        if order.act is Act.WARN:
            return await _warn(client, duty.policy, order)
        if order.act is Act.CANCEL:
            return await client.signal_jobs(order.nodes, KILL, only=known)
        jobs, refused = await _requeue(client, order, known)
        refusals.extend(refused)
        return jobs

    jobs = await slurm.order(duty.controller, f"{order.act.value} the jobs on Slurm nodes {hosts}", give)
    if jobs is not None:
        _tell(duty, order, jobs, refusals)
    await slurm.change(duty.controller, order.nodes, extra=order.note)
    return refusals


async def _warn(client: SlurmRest, policy: Drain, order: Order) -> list[JobReached]:
    """Comment first, so that who is woken by the signal finds it."""
    jobs = await client.jobs_on(order.nodes)
    end = datetime.fromtimestamp(order.end, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    words = f"{_OURS}its node leaves, so it is {_FATES[policy.on_timeout]} at {end} unless it ends before"
    for job in jobs:
        with suppress(SlurmRefused, SlurmConflict):  # it has ended, or is about to
            there = await client.job(job.job_id.number)
            await client.comment_job(there.job_id, commented(there.admin_comment, words))
    for signal in _SIGNALS[policy.on_timeout]:
        await client.signal_jobs(order.nodes, signal)
    return jobs


def commented(present: str, words: str) -> str:
    """A comment with our words at its end, in place of earlier ones of ours; what others wrote stays."""
    theirs = [part for part in present.split(_BESIDE) if part and not part.startswith(_OURS)]
    return _BESIDE.join([*theirs, words])


async def _requeue(client: SlurmRest, order: Order, known: Collection[str]) -> tuple[list[JobReached], list[str]]:
    """Jobs that cannot be requeued go on running: to end them was nobody's wish."""
    jobs = [job for job in await client.jobs_on(order.nodes) if job.step_id in known]
    refused: Mapping[str, str] = await client.requeue_jobs(job.step_id for job in jobs)
    done = [job for job in jobs if job.step_id.partition("+")[0] not in refused]
    return done, [f"job {name} cannot be requeued and is waited for: {why}" for name, why in refused.items()]


def _tell(duty: Duty, order: Order, jobs: Sequence[JobReached], refusals: Sequence[str]) -> None:
    events, kind, hosts = duty.context.events, CUSTOMS["NodeSet"], hostlist.compress(order.nodes)
    if jobs:
        duty.context.metrics.ordered(order.act.value, len(jobs))
        note = f"{_named([job.step_id for job in jobs])}, on {hosts}: {order.why}"
        events.warning(kind, duty.item, _REASONS[order.act], note)
    if refusals:
        events.warning(kind, duty.item, "JobsNotRequeued", f"{'; '.join(refusals[:_SHOWN])}; on {hosts}")


def _named(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return f"jobs {', '.join(names[:_SHOWN])}{f' and {more} more' if more > 0 else ''}"
