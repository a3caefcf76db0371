"""Rings of auth/slurm keys: kept beside people's Secrets, and led from one key to another while jobs run.

A ring (`slurm/keyring.py`) is changed in steps, and no step is taken before everybody has taken the one before. That
they have is not a matter of waiting long enough: slurmctld's guard (`render/reconfigure.py`) says so when every slurmd
has begun anew, slurmdbd shows it by its pod. Who was away when the others were told is told again, by writing the ring
again. All that is known is in the ring's Secret and in the guards' logs; an operator that restarts goes on.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller
from penstock.api.objects import SecretKeySelector
from penstock.cluster.errors import AlreadyExists, Conflict, NotFound
from penstock.cluster.port import MANAGER
from penstock.operator.conditions import Cause
from penstock.operator.context import Context
from penstock.operator.resources import CUSTOMS, SECRETS, Custom, Handled, Pod
from penstock.operator.workloads import carries
from penstock.render import keyring as render
from penstock.render import labels, names, slurmd
from penstock.render.inventory import Cluster, Inventory
from penstock.render.login import contract_for as login_contract
from penstock.render.reconfigure import KeyringState
from penstock.slurm import hostlist
from penstock.slurm.keyring import FILE, Key, KeyringError, Ring, Written, next_ring

TOUCHED = "penstock/keyring"
"""Annotation of slurmctld's pods: with a change of it kubelet looks at the pod's volumes at once, not in a minute."""
_LOOK_AGAIN = 10.0
"""Seconds between two looks at a rotation that waits for pods: their changes concern other objects of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """How far the keys of a cluster are."""

    progressing: Cause | None = None
    degraded: Cause | None = None
    again: float | None = None


AT_REST = Rotation()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of a ring and of those who hold it; each sentence is empty when nobody is to be told of."""

    written: Written | None
    wanted: Key
    spread: bool
    """Whether anybody holds it whom a sudden change would cut off; slurmdbd alone reads it afresh, and is no such."""
    away: str = ""
    """Who is not there to be told."""
    missed: str = ""
    """Who is there, but was not all the time since the ring was written."""
    unread: str = ""
    """Who has not read it yet."""


@dataclass(frozen=True, slots=True)
class Write:
    """Write a ring."""

    ring: Ring
    why: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Take no step yet."""

    why: str


def decide(seen: Seen) -> Write | Wait:
    """The next thing to do about a ring that is not yet as wanted."""
    if seen.written is None or not seen.spread:
        return Write(Ring(seen.wanted), "a ring of the key alone")
    then = next_ring(seen.written.ring, seen.wanted)
    if not seen.written.ring.others:
        # Whoever has not read a ring of one key has the one before, which signs with that key too.
        return Write(then, told(then, seen.wanted))
    if seen.away:
        return Wait(seen.away)
    if seen.missed:
        return Write(seen.written.ring, f"the same ring once more, for {seen.missed}")
    if seen.unread:
        return Wait(seen.unread)
    return Write(then, told(then, seen.wanted))


def told(ring: Ring, wanted: Key) -> str:
    """Where a ring stands on the way to a key, in a sentence."""
    if wanted not in ring.keys:
        return "the new key is not in use yet"
    if wanted != ring.signing:
        return "step 1 of 3, daemons sign with the old key and learn to believe the new one"
    if ring.others:
        return "step 2 of 3, daemons sign with the new key and still believe the old one"
    return "step 3 of 3, daemons forget the old key"


async def tend(
    context: Context, item: Custom, owner: Controller | Accounting, inventory: Inventory
) -> tuple[Inventory, Rotation]:
    """Take care of the ring that the daemons of `owner` hold, before there are any. The inventory knows it then."""
    key = owner.spec.slurm_key_ref
    secret = inventory.references.secret_value(owner.metadata.namespace, key)
    if key is None or secret is None:
        return inventory, AT_REST
    held_by = render.holders(inventory, owner.metadata.namespace, key)
    if all((one.kind, one.metadata.uid) != (owner.kind, owner.metadata.uid) for one in held_by):
        return inventory, AT_REST
    try:
        wanted = Key(secret)
    except KeyringError as error:
        return inventory, Rotation(degraded=Cause("KeyRefused", f'Secret "{key.name}", {key.key}: {error}'))
    keeper = _Keeper(context, item, owner, inventory, key, held_by, wanted)
    rotation = await keeper.turn()
    if rotation is not AT_REST:
        inventory = await context.inventory(owner.metadata.namespace)
    if isinstance(owner, Controller):
        digest = render.ring_hash(inventory.references, owner.metadata.namespace, key)
        await context.touch(_slurmctlds(context, owner) if digest else (), TOUCHED, digest or "")
    return inventory, rotation


@dataclass(frozen=True, slots=True)
class _Keeper:
    """One look at one ring."""

    context: Context
    item: Custom
    owner: Controller | Accounting
    inventory: Inventory
    key: SecretKeySelector
    held_by: Sequence[Controller | Accounting]
    wanted: Key

    @property
    def namespace(self) -> str:
        return self.owner.metadata.namespace

    @property
    def name(self) -> str:
        return render.ring_of(self.key).name

    async def turn(self) -> Rotation:
        known = _read(self.inventory.references.secrets.get((self.namespace, self.name), {}).get(FILE))
        done = known is not None and known.ring == Ring(self.wanted)
        # Steps are a Controller's: it knows who has to follow.
        if known and isinstance(self.owner, Accounting) and self._clusters():
            return AT_REST
        if done and self._is_owned():
            return AT_REST
        there = await self._fetch()
        if there is None:
            return await self._write(None, Write(Ring(self.wanted), "a ring of the key alone"))
        # What the watch shows may be older than this, and a step must not be taken twice.
        written = _read(_value(there))
        if written is None and not there.metadata.owner_references:
            words = f'Secret "{self.name}" is in the way and not ours; delete it, or rename Secret "{self.key.name}"'
            return Rotation(degraded=Cause("NameTaken", words))
        if written is not None and written.ring == Ring(self.wanted):
            return AT_REST if done is False else await self._write(there, Write(written.ring, ""), at=written.at)
        return await self._follow(there, written, decide(self._seen(there, written)))

    async def _follow(self, there: Handled, written: Written | None, decided: Write | Wait) -> Rotation:
        if isinstance(decided, Write):
            return await self._write(there, decided)
        where = told(written.ring, self.wanted) if written else ""
        return Rotation(progressing=Cause("KeyRotation", f"{where}; {decided.why}"), again=_LOOK_AGAIN)

    async def _fetch(self) -> Handled | None:
        try:
            found: Handled = await self.context.cluster.get(SECRETS.reading(Handled), self.name, self.namespace)
        except NotFound:
            return None
        return found

    async def _write(self, there: Handled | None, decided: Write, *, at: datetime | None = None) -> Rotation:
        text = Written(decided.ring, at or self.context.now()).text()
        body = render.manifest(self.namespace, self.key, self.held_by, text)
        try:
            if there is None:
                result = await self.context.cluster.create(SECRETS, body)
            else:
                # Somebody else's step in between must not be undone.
                body["metadata"]["resourceVersion"] = there.metadata.resource_version
                result = await self.context.cluster.apply(SECRETS, body)
        except (AlreadyExists, Conflict):
            return Rotation(again=1.0)
        self.context.contents.wrote_secret(result, body["data"])
        if decided.why:
            note = f"Secret {self.name}: {decided.why}"
            reason = "KeyRotation" if there else "KeyringMade"
            self.context.events.normal(CUSTOMS[self.owner.kind], self.item, reason, note)
        done = decided.ring == Ring(self.wanted)
        return Rotation(progressing=None if done else Cause("KeyRotation", decided.why), again=_LOOK_AGAIN)

    def _is_owned(self) -> bool:
        there = self.context.caches.secrets.get(self.name, self.namespace)
        owners = {owner.uid for owner in there.metadata.owner_references} if there else set[str]()
        # One that the watch has not shown yet was made a moment ago.
        return there is None or {one.metadata.uid for one in self.held_by} <= owners

    def _clusters(self) -> list[Cluster]:
        return [self.inventory.cluster(one) for one in self.held_by if isinstance(one, Controller)]

    def _seen(self, there: Handled, written: Written | None) -> Seen:
        pods = [pod for cluster in self._clusters() for pod in self._followers(cluster)]
        away = [pod.metadata.name for pod in pods if pod.ready_since is None]
        since = _written_at(there)
        missed = [pod.metadata.name for pod in pods if written and since and _came_back(pod, since)]
        return Seen(
            written=written,
            wanted=self.wanted,
            spread=bool(self._clusters()),
            away=f"waits for {hostlist.compress(away)}, not ready" if away else "",
            missed=f"{hostlist.compress(missed)} was away" if missed else "",
            unread="; ".join(self._unread(labels.key_digest(_value(there)))),
        )

    def _followers(self, cluster: Cluster) -> Iterator[Pod]:
        """Running pods of a cluster whose daemons read their ring when slurmctld tells them to."""
        caches = self.context.caches.pods
        for node_set in cluster.node_sets:
            if render.holds_ring(cluster, slurmd.contract_for(node_set)):
                yield from (pod for pod in caches.by("owners", node_set.metadata.uid) if _runs(pod))
        for login_set in self.inventory.members(self.inventory.login_sets, cluster):
            if render.holds_ring(cluster, login_contract(login_set)):
                yield from (pod for pod in self.context.caches.pods_of("login", login_set) if _runs(pod))

    def _unread(self, digest: str | None) -> Iterator[str]:
        for one in self.held_by:
            if isinstance(one, Accounting):
                workload = self.context.caches.stateful_sets.get(names.accounting(one), self.namespace)
                if not carries(workload, {labels.SLURM_KEY_HASH: digest}):
                    yield f'waits until slurmdbd of Accounting "{one.metadata.name}" has rolled'
                continue
            guards = [self.context.reports.keyring(pod) for pod in _slurmctlds(self.context, one)]
            if not guards:
                yield f'waits for slurmctld of Controller "{one.metadata.name}"'
            for said in guards:
                if said is None or said.digest != digest:
                    yield "waits until slurmctld's pod is shown it"
                elif said.state is not KeyringState.READ:
                    yield said.words


def _read(text: bytes | None) -> Written | None:
    try:
        return Written.read(text or b"")
    except KeyringError:
        return None


def _value(there: Handled) -> bytes:
    try:
        return base64.b64decode(there.data.get(FILE, ""), validate=True)
    except binascii.Error:
        return b""


def _runs(pod: Pod) -> bool:
    """Whether a pod has daemons that may hold an older ring; one that has yet to start will read the newest."""
    return pod.status.phase == "Running" and not pod.leaving


def _written_at(there: Handled) -> datetime | None:
    """When the ring was last written, by the clock that pods' times are told by: the server's, not ours."""
    times = [entry.time for entry in there.metadata.managed_fields if entry.manager == MANAGER and entry.time]
    told = max(times, default=there.metadata.creation_timestamp)
    return datetime.fromisoformat(told) if told else None


def _came_back(pod: Pod, since: datetime) -> bool:
    """Whether a pod that was there before became ready only afterwards, and so was perhaps not told."""
    made = pod.metadata.creation_timestamp
    if not pod.ready_since or not made:
        return False
    return datetime.fromisoformat(made) <= since < datetime.fromisoformat(pod.ready_since)


def _slurmctlds(context: Context, controller: Controller) -> list[Pod]:
    return [pod for pod in context.caches.pods_of("slurmctld", controller) if not pod.leaving]
