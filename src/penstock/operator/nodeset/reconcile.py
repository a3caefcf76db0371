"""One look at a NodeSet: observe, plan, act, tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.api.nodeset import NodeSet
from penstock.cluster.errors import ClusterError
from penstock.operator import shared_root
from penstock.operator.conditions import Cause, Condition
from penstock.operator.context import Context, Outcome
from penstock.operator.host_keys import host_keys
from penstock.operator.nodeset import finalizer, suspended, tending
from penstock.operator.nodeset.act import act
from penstock.operator.nodeset.adoption import adopted
from penstock.operator.nodeset.bounded import terms
from penstock.operator.nodeset.claims import Claims
from penstock.operator.nodeset.course import Course, course
from penstock.operator.nodeset.errand import Errand
from penstock.operator.nodeset.expected import FORGOTTEN_AFTER, Expected
from penstock.operator.nodeset.history import History
from penstock.operator.nodeset.jobs import carry_out
from penstock.operator.nodeset.marking import Marking
from penstock.operator.nodeset.observe import Observer
from penstock.operator.nodeset.plan import GIVEN_UP_AFTER, REGISTERS_IN, SHORT_LIFE, plan, registering
from penstock.operator.nodeset.preview import Preview
from penstock.operator.nodeset.recording import Recorded, Recording
from penstock.operator.nodeset.refusals import Refusals
from penstock.operator.nodeset.report import available_in, conditions, counts
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.sightings import Sightings
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Plan
from penstock.operator.nodeset.windows import SOON, Kept, Windows, remembered
from penstock.operator.references import cluster_of, missing, unreadable
from penstock.operator.resources import Custom
from penstock.operator.slurm_links import slurm_key
from penstock.operator.status import soonest
from penstock.render import sshd, workers
from penstock.render.inventory import Cluster

_TAKES_EFFECT = 0.05
"""Seconds until Slurm has carried out an order."""
_ORDER_AGAIN = 2.0
"""Seconds until Slurm is given an order once more."""
_RIVALS = 5.0
"""Seconds until somebody looks whether another NodeSet has given a name free: its workers are its own affair."""

MARKS = "Marks"
"""The queue's word for "write on the pods of this NodeSet": `("Marks", namespace, name)`."""

Troubles = Sequence[Cause | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    """A plan, and what it was made from."""

    now: Snapshot
    course: Course
    cluster: Cluster | None
    forsaken: bool
    """Its Controller is gone, and with it its Slurm."""
    waits: Cause | None = None
    """What it refers to and is not there."""
    held: Cause | None = None
    """Why nobody is made."""
    plan: Plan | None = None
    """None: nobody can decide."""


@dataclass(frozen=True, slots=True)
class _Done:
    """What came of acting."""

    troubles: Troubles = ()
    refused: ClusterError | None = None
    """What the cluster did not take, if anything."""
    unfinished: bool = False
    """Something had changed since we looked."""
    more: bool = False
    """There was more to do than fits in one look."""


class NodeSets:
    """The reconciler of NodeSets."""

    def __init__(self, context: Context) -> None:
        self._observer = Observer(Expected(), Sightings())
        self._refused = Refusals()
        self._history = History(context.cluster, context.caches.revisions)
        self._marking = Marking(context.cluster, context.now)
        self._recording = Recording()
        self._windows = Windows(context)
        context.caches.customs["NodeSet"].subscribe(self._forget)
        context.caches.pods.subscribe(self._observer.expected.shown)
        context.caches.pods.subscribe(self._observer.sightings.shown)

    def _forget(self, old: Custom | None, new: Custom | None) -> None:
        if old is not None and new is None:
            for one in (self._windows, self._marking, self._recording):
                one.forget(old.metadata.uid)

    async def reconcile(self, context: Context, item: Custom, node_set: NodeSet) -> Outcome:
        """Bring the workers of a NodeSet a step closer to what it says."""
        if item.metadata.deletion_timestamp is None:
            # Before anything is made of it, and before its hash is asked for: another may have taken the first one.
            await self._history.record(node_set)
        found = await self._decide(context, item, node_set)
        now, cluster = found.now, found.cluster
        if now.deleting and (found.forsaken or (cluster is not None and not now.pods)):
            return await self._end(context, item, cluster, now)
        if cluster is None or found.plan is None:
            return _told(item, now, Plan(), degraded=found.waits, window=remembered(item))
        if not now.deleting:
            await finalizer.hold(context, item)
            await self._keep_sshd(context, item, cluster, found.course.node_set)
        for body in workers.manifests(cluster):
            await context.owned.keep(body)
        done = await self._act(context, item, cluster, now, found.plan)
        await self._history.trim(node_set, {pod.metadata.labels.get(HASH, "") for pod in now.pods})
        done = replace(done, troubles=[*done.troubles, found.held, found.course.trouble])
        return await self._tell(context, item, cluster, now, found.plan, done)

    async def _decide(self, context: Context, item: Custom, node_set: NodeSet, *, asks: bool = False) -> _Decision:
        """What is to be done now, and what it was decided by. `asks`: Slurm, who has perhaps never been asked."""
        inventory = await context.inventory(node_set.metadata.namespace)
        cluster, followed = cluster_of(inventory, node_set), self._course(context, node_set)
        unread = unreadable(context.caches, node_set)
        waits = unread or missing(inventory, node_set)
        if asks and cluster is not None:
            await context.slurm.ask(cluster.controller)
        now = await self._observer.fresh(context, item, followed, cluster)
        found = _Decision(now=now, course=followed, cluster=cluster, waits=waits, forsaken=not (cluster or unread))
        if cluster is None or (waits is not None and not now.deleting):
            # What is there stays: without its Controller nobody can say whether a worker may go.
            return found
        held = shared_root.held(context, cluster)
        if held is not None:
            # Nobody comes, so nobody goes who should come again; all else goes on.
            now = replace(now, makes=False, rolls=False)
        now = await suspended.counted(context, cluster.controller, now, _planned(now, followed))
        return replace(found, now=now, held=held, plan=_planned(now, followed))

    async def _keep_sshd(self, context: Context, item: Custom, cluster: Cluster, node_set: NodeSet) -> None:
        """What workers need for people to come by ssh, before there are workers."""
        keys = await host_keys(context, item, node_set, app="slurmd") if sshd.adopts(node_set) else None
        objects = sshd.manifests(cluster, node_set, keys)
        of_keys = [body for body in objects if body["kind"] == "Secret"]
        await context.keep_only("NodeSet", item, [body for body in objects if body not in of_keys], also=of_keys)

    async def preview(self, context: Context, item: Custom, node_set: NodeSet) -> Preview:
        """What would be done now; nothing is."""
        found = await self._decide(context, item, node_set, asks=True)
        trouble = found.waits or found.held or found.course.trouble or suspended.trouble(sorted(found.now.suspended))
        return Preview(now=found.now, plan=found.plan or Plan(), trouble=trouble)

    async def mark(self, context: Context, item: Custom, node_set: NodeSet) -> float | None:
        """Have pods tell what Slurm says of them; tells in how many seconds to go on. Apart, for it may take long."""
        inventory = await context.inventory(node_set.metadata.namespace)
        followed = self._course(context, node_set)
        now = self._observer.observe(context, item, followed, cluster_of(inventory, node_set))
        more = await self._marking.mark(_without_removed(now, _planned(now, followed)))
        return 0.0 if more else None

    async def _end(self, context: Context, item: Custom, cluster: Cluster | None, now: Snapshot) -> Outcome:
        """Let a deleted NodeSet go: first its window, then itself.

        Its claims are settled before: somebody may have changed the policy a moment ago, and with it whose they are.
        """
        if await tending.settle(context.cluster, Claims(now).tended(())):
            return _told(item, now, Plan(), degraded=None, again=SOON)
        if not finalizer.is_held(item, finalizer.RESERVATION):
            kept = Kept(again=None if await finalizer.release(context, item) else SOON)
        elif cluster is None:
            # Without its Controller there is no Slurm, and nobody whose worker, or window, could be kept.
            kept = Kept(again=await self._windows.let_go(item))
        else:
            kept = await self._windows.keep(item, now.node_set, cluster.controller, (), now.slurm_time)
        return _told(item, now, Plan(), degraded=kept.trouble, again=kept.again)

    def _course(self, context: Context, node_set: NodeSet) -> Course:
        pods = context.caches.pods.by("owners", node_set.metadata.uid)
        return course(node_set, self._history.of(node_set), pods)

    async def _act(self, context: Context, item: Custom, cluster: Cluster, now: Snapshot, decided: Plan) -> _Done:
        """Do what was decided; what Slurm did not take, or the cluster refused."""
        errand = Errand(
            context=context, item=item, cluster=cluster, now=now, expected=self._observer.expected,
            refused=self._refused,
        )  # fmt: skip
        await act(errand, decided)
        carried = await carry_out(
            context, item, cluster.controller, terms(now), decided.jobs, still_wished=errand.is_still_wished
        )
        unheard = [*errand.troubles, *(Cause("SlurmUnknown", words) for words in carried.troubles)]
        refused = [Cause("SlurmRefuses", words) for words in carried.refusals]
        waits = suspended.trouble(sorted(now.suspended))
        error = next(iter(errand.refusals), None)
        of_cluster = Cause(type(error).__name__, str(error)) if error else None
        troubles = [of_cluster, *unheard, *refused, waits, self._ungrown(decided)]
        return _Done(troubles, error, errand.unfinished, errand.more)

    async def _tell(
        self, context: Context, item: Custom, cluster: Cluster, now: Snapshot, decided: Plan, done: _Done
    ) -> Outcome:
        """Tell people, pods and Slurm how things are, and see to it that somebody looks again."""
        recorded, kept = Recorded(), Kept(condition=remembered(item))
        if not decided.create or done.refused:
            # Thousands of workers that come are not to wait for what is said about those that are there.
            context.look((MARKS, item.metadata.namespace, item.metadata.name), 0)
            recorded = await self._recording.record(context, item, cluster, now)
            nodes = [one.name for pod in now.there if (one := now.report(pod)) is not None]
            kept = await self._windows.keep(item, now.node_set, cluster.controller, nodes, now.slurm_time)
        self._wait(context, cluster, item, now, decided)
        refusal = Cause("SlurmRefuses", "; ".join(recorded.refusals)) if recorded.refusals else None
        trouble = next((one for one in (*done.troubles, kept.trouble, refusal) if one is not None), None)
        # An order that Slurm did not take changes nothing there, nor does a job that stays: nobody would look again.
        unheard = recorded.trouble or (trouble is not None and trouble.reason in {"SlurmUnknown", "JobsSuspended"})
        unheard = unheard or done.unfinished
        due = [0.0] if recorded.more or done.more else [_ORDER_AGAIN] if unheard else []
        again = soonest(*due, kept.again, decided.again, self._refused.again_in(_growing(decided)))
        told = _told(item, now, decided, degraded=trouble, again=again, window=kept.condition)
        return replace(told, refused=done.refused)

    def _wait(self, context: Context, cluster: Cluster, item: Custom, now: Snapshot, decided: Plan) -> None:
        waiting = bool(decided.wait or decided.drain or decided.undrain or registering(now))
        key = ("NodeSet", item.metadata.namespace, item.metadata.name)
        context.wait_for_slurm(cluster.controller, key, waiting=waiting)
        if decided.drain:
            # An idle node is drained as soon as Slurm has the order; no need to wait for the next question.
            context.look(slurm_key(cluster.controller), _TAKES_EFFECT)

    def _ungrown(self, decided: Plan) -> Cause | None:
        """Claims that should be larger and that the cluster does not let grow."""
        words = self._refused.words(_growing(decided))
        return Cause("ClaimsNotGrown", "; ".join(words)) if words else None


def _growing(decided: Plan) -> frozenset[tuple[str, str]]:
    """The uids of claims that should be larger, and how large."""
    return frozenset((one.claim.metadata.uid, one.request) for one in decided.tend if one.request)


def _planned(now: Snapshot, followed: Course) -> Plan:
    """The plan; workers that another operator made get our labels, and until then nobody is taken for old."""
    theirs = {pod.metadata.name: wanted for pod, wanted in adopted(now, followed.newest, followed.known)}
    if not theirs:
        return plan(now)
    decided = plan(replace(now, rolls=False))
    return replace(decided, relabel={**decided.relabel, **theirs})


def _without_removed(now: Snapshot, decided: Plan) -> Snapshot:
    gone = {one.pod.metadata.uid for one in decided.remove}
    return replace(now, pods=[pod for pod in now.pods if pod.metadata.uid not in gone]) if gone else now


def _silent_in(now: Snapshot) -> float | None:
    """Seconds until people are told that Slurm does not answer; None when that is no matter, or was done."""
    if now.slurm is not None or now.slurm_silence is None or not now.there or now.slurm_silence >= GIVEN_UP_AFTER:
        return None
    return GIVEN_UP_AFTER - now.slurm_silence


def _told(
    item: Custom,
    now: Snapshot,
    decided: Plan,
    *,
    degraded: Cause | None,
    again: float | None = None,
    window: Condition | None = None,
) -> Outcome:
    due = [
        0.0 if decided.more else None,
        FORGOTTEN_AFTER if now.expected or decided.create else None,
        _RIVALS if any(one.seat.slurm_node in now.rivals for one in decided.blocked) else None,
        SHORT_LIFE if any(pod.ended for pod in now.there) else None,
        REGISTERS_IN if registering(now) else None,
        _silent_in(now),
        available_in(now),
    ]
    return Outcome(
        conditions=[*conditions(now, decided, degraded=degraded), *([window] if window else [])],
        status=counts(now, item.status),
        again=soonest(*due, again),
    )
