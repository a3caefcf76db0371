"""One look at a NodeSet: observe, plan, act, tell."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.api.nodeset import NodeSet
from penstock.operator import departure, finalizer, shared_root
from penstock.operator.conditions import Cause
from penstock.operator.context import Context, Outcome
from penstock.operator.host_keys import host_keys
from penstock.operator.nodeset import making, suspended, tending
from penstock.operator.nodeset.act import act
from penstock.operator.nodeset.adoption import adopted
from penstock.operator.nodeset.bounded import terms
from penstock.operator.nodeset.claims import Claims
from penstock.operator.nodeset.course import Course, course
from penstock.operator.nodeset.errand import Errand
from penstock.operator.nodeset.expected import Expected
from penstock.operator.nodeset.history import History
from penstock.operator.nodeset.jobs import Duty, carry_out
from penstock.operator.nodeset.marking import Marking
from penstock.operator.nodeset.observe import Observer
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.preview import Preview
from penstock.operator.nodeset.protection import Protection
from penstock.operator.nodeset.recording import Recording
from penstock.operator.nodeset.refusals import Refusals
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.sightings import Sightings
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Plan
from penstock.operator.nodeset.telling import Done, Telling, outcome
from penstock.operator.nodeset.windows import SOON, Kept, Windows, remembered
from penstock.operator.references import cluster_of, missing, unreadable
from penstock.operator.resources import Custom
from penstock.render import sshd, workers
from penstock.render.inventory import Cluster

_SEEN_IN = 2.0
"""Seconds in which a watch shows workers that it did not."""


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


class NodeSets:
    """The reconciler of NodeSets."""

    def __init__(self, context: Context) -> None:
        self._observer = Observer(Expected(), Sightings())
        self._refused = Refusals()
        self._history = History(context.cluster, context.caches.revisions)
        self._marking, self._protection = Marking(context.cluster, context.now), Protection()
        self._telling = Telling(Recording(), Windows(context))
        context.caches.customs["NodeSet"].subscribe(self._forget)
        context.caches.pods.subscribe(self._observer.expected.shown)
        context.caches.pods.subscribe(self._observer.sightings.shown)

    def _forget(self, old: Custom | None, new: Custom | None) -> None:
        if old is not None and new is None:
            self._marking.forget(old.metadata.uid)
            self._protection.forget(old.metadata.uid)
            self._telling.forget(old.metadata.uid)

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
            return outcome(item, now, Plan(), degraded=found.waits, window=remembered(item))
        if not now.deleting:
            await finalizer.hold(context, item)
            await self._keep_sshd(context, item, cluster, found.course.node_set)
        for body in workers.manifests(cluster):
            await context.owned.keep(body)
        errand = Errand(
            context=context, item=item, cluster=cluster, now=now, expected=self._observer.expected,
            refused=self._refused,
        )  # fmt: skip
        done = await self._act(errand, found.plan)
        await self._history.trim(node_set, {pod.metadata.labels.get(HASH, "") for pod in now.pods})
        done = replace(done, troubles=[*done.troubles, found.held, found.course.trouble])
        return await self._telling.tell(errand, found.plan, done)

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
        if cluster is None or (waits is not None and not now.deleting) or finalizer.leaves_orphans(item.metadata):
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
        cluster, followed, again = cluster_of(inventory, node_set), self._course(context, node_set), None
        now = self._observer.observe(context, item, followed, cluster)
        now = _without_removed(now, _planned(now, followed))
        if cluster is not None:
            now, again = await self._protection.known(context, cluster.controller, now)
        return 0.0 if await self._marking.mark(now) else again

    async def _end(self, context: Context, item: Custom, cluster: Cluster | None, now: Snapshot) -> Outcome:
        """Let a deleted NodeSet go: first its window, then itself.

        Its claims are settled before: somebody may have changed the policy a moment ago, and with it whose they are.
        """
        if await tending.settle(context.cluster, Claims(now).tended(())):
            return outcome(item, now, Plan(), degraded=None, again=SOON)
        if cluster is not None and await making.recover(context.cluster, now.node_set):
            return outcome(item, now, Plan(), degraded=None, again=_SEEN_IN)
        if not finalizer.is_held(item, finalizer.RESERVATION):
            kept = Kept(again=None if await finalizer.release(context, item) else SOON)
        elif cluster is None or departure.has_lost_slurmctld(context, cluster.controller):
            # Without its Controller there is no Slurm, and nobody whose worker, or window, could be kept.
            kept = Kept(again=await self._telling.windows.let_go(item))
        elif now.cancels and now.given_up:
            kept = await self._telling.windows.abandon(item, now.slurm_trouble)
        else:
            kept = await self._telling.windows.keep(item, now.node_set, cluster.controller, (), now.slurm_time)
        return outcome(item, now, Plan(), degraded=kept.trouble, again=kept.again)

    def _course(self, context: Context, node_set: NodeSet) -> Course:
        pods = context.caches.pods.by("owners", node_set.metadata.uid)
        return course(node_set, self._history.of(node_set), pods)

    async def _act(self, errand: Errand, decided: Plan) -> Done:
        """Do what was decided; what Slurm did not take, or the cluster refused."""
        await act(errand, decided)
        carried = await carry_out(_duty(errand), decided.jobs)
        unheard = [*errand.troubles, *(Cause("SlurmUnknown", words) for words in carried.troubles)]
        refused = [Cause("SlurmRefuses", words) for words in carried.refusals]
        waits = suspended.trouble(sorted(errand.now.suspended))
        error = next(iter(errand.refusals), None)
        of_cluster = Cause(type(error).__name__, str(error)) if error else None
        troubles = [of_cluster, *unheard, *refused, waits, self._refused.trouble(decided.growing)]
        return Done(troubles, error, errand.unfinished, errand.more)


def _duty(errand: Errand) -> Duty:
    """Whose jobs may be ended, and by what terms."""
    return Duty(errand.context, errand.item, errand.cluster.controller, terms(errand.now), errand.has_its_own)


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
