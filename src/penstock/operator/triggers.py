"""Which change concerns whom. Every object that a kind owns, refers to or depends on leads back to that kind here.

A trigger says only where to look. One too many costs a look that finds all in order; one too few would leave a cluster
as it is until somebody wonders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller
from penstock.api.kinds import API_VERSION, Kind
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet, Registration, ScalingMode
from penstock.api.restapi import RestApi
from penstock.api.token import Token
from penstock.cluster.informer import Listener
from penstock.cluster.resources import Lean
from penstock.operator.caches import Caches
from penstock.operator.customs import Invalid, Key
from penstock.operator.nodeset.revisions import pin
from penstock.operator.nodeset.snapshot import ordinal
from penstock.operator.resources import CONFIG_MAPS, SECRETS, Custom, Job, Machine, Pod, Revision
from penstock.render import labels
from penstock.render.missing import config_map_references, secret_references
from penstock.render.names import token_secret

Look = Callable[[Key, float], None]
"""Look at this key, in so many seconds."""

_KIND_OF_APP = {"slurmctld": "Controller", "slurmdbd": "Accounting", "slurmrestd": "RestApi", "login": "LoginSet"}
_BATCH, _BATCH_PER_POD, _LONGEST_BATCH = 0.02, 0.0005, 0.5
"""Seconds to gather pod events: a large set is looked at twice a second at most while its pods come up."""
_FEWER_NODES = 2.0
"""Seconds to gather static workers that go: each of their nodes alone would be a new configuration for slurmctld."""


class Triggers:
    """Turns changes into keys to look at."""

    def __init__(self, caches: Caches, look: Look) -> None:
        self._caches = caches
        self._look = look
        self._pods_of: dict[str, int] = {}

    def subscribe(self) -> None:
        """Listen to every view."""
        for kind, view in self._caches.customs.items():
            view.subscribe(self._custom(kind))
        for owned in self._caches.owned:
            owned.subscribe(self._owned)
        self._caches.config_maps.subscribe(self._content(CONFIG_MAPS.kind))
        self._caches.secrets.subscribe(self._content(SECRETS.kind))
        self._caches.claims.subscribe(self._claim)
        self._caches.revisions.subscribe(self._owned)
        self._caches.pods.subscribe(self._pod)
        self._caches.machines.subscribe(self._machine)

    def _custom(self, kind: str) -> Listener[Custom]:
        def listen(old: Custom | None, new: Custom | None) -> None:
            item = new or old
            if item is None or (old and new and _same_wish(old, new)):
                return
            key = (kind, item.metadata.namespace, item.metadata.name)
            before = None if old is None else self._caches.decoder.decode(kind, old)
            self._look(key, 0)
            for other in self._dependents(key, before):
                self._look(other, 0)
            if new is None:
                self._caches.decoder.forget(item.metadata.uid)
            if new is None or new.metadata.deletion_timestamp is not None:
                self._those_who_stay(item.metadata.namespace)

        return listen

    def _those_who_stay(self, namespace: str) -> None:
        """Who is deleted, and waits for one that goes now, or is gone."""
        for key in [*self._caches.keys(namespace)]:
            if (item := self._caches.find(key)) is not None and item.metadata.deletion_timestamp is not None:
                self._look(key, 0)

    def _dependents(self, key: Key, before: Kind | Invalid | None = None) -> Iterator[Key]:
        """Those whose objects are made from this one too: as it is, and as it was."""
        kind, namespace, name = key
        if kind == "Controller":
            yield from (one for one, ref in self._references(namespace) if ref == name and one[0] != "Controller")
        if kind == "Accounting":
            # And those of its Controllers: they too wait for what a Controller lacks.
            for one in [one for one, ref in self._references(namespace) if ref == name and one[0] == "Controller"]:
                yield one
                yield from self._dependents(one)
        if kind in {"NodeSet", "RestApi"}:
            for decoded in (before, self._caches.decoded(key)):
                if isinstance(decoded, NodeSet | RestApi):
                    yield "Controller", namespace, decoded.spec.controller_ref.name

    def _references(self, namespace: str) -> Iterator[tuple[Key, str]]:
        """Our objects in a namespace with the name of the Controller, or for Controllers the Accounting, they name."""
        for key in [*self._caches.keys(namespace)]:
            decoded = self._caches.decoded(key)
            if isinstance(decoded, NodeSet | RestApi | LoginSet):
                yield key, decoded.spec.controller_ref.name
            if isinstance(decoded, Controller) and decoded.spec.accounting_ref:
                yield key, decoded.spec.accounting_ref.name

    def _owned(self, old: Lean | None, new: Lean | None) -> None:
        item = new or old
        if item is None:
            return
        for owner in {*item.metadata.owner_references, *(old.metadata.owner_references if old else ())}:
            if owner.api_version == API_VERSION:
                key = (owner.kind, item.metadata.namespace, owner.name)
                self._look(key, 0)
                if owner.kind == "Accounting" or isinstance(item, Revision | Job):
                    # With new keys slurmctld waits until slurmdbd's pods have them; slurm.conf is written for the
                    # revision that a NodeSet is pinned to; and pods wait until the shared root is filled.
                    for other in self._dependents(key):
                        self._look(other, 0)

    def _content(self, resource: str) -> Listener[Lean]:
        def listen(old: Lean | None, new: Lean | None) -> None:
            item = new or old
            if item is not None:
                for key in self._referrers(resource, item.metadata.namespace, item.metadata.name):
                    self._look(key, 0)

        return listen

    def _referrers(self, resource: str, namespace: str, name: str) -> Iterator[Key]:
        for key in [*self._caches.keys(namespace)]:
            decoded = self._caches.decoded(key)
            if decoded is None or isinstance(decoded, Invalid) or name not in _names(resource, decoded):
                continue
            yield key
            if isinstance(decoded, Controller | Accounting):
                yield from self._dependents(key)

    def _claim(self, old: Lean | None, new: Lean | None) -> None:
        # Of claims only their coming and going matters.
        item = new or old
        if item is not None and not (old and new) and item.metadata.labels.get(labels.NAME) == "slurmd":
            self._look(("NodeSet", item.metadata.namespace, item.metadata.labels.get(labels.INSTANCE, "")), _BATCH)

    def _pod(self, old: Pod | None, new: Pod | None) -> None:
        item = new or old
        if item is None:
            return
        namespace, its = item.metadata.namespace, item.metadata.labels
        # Who lost it minds as much as who has it: a set may be deleted without its workers.
        had, has = (frozenset(one.metadata.owner_references if one else ()) for one in (old, new))
        for owner in had | has:
            if owner.api_version == API_VERSION:
                count = self._counted(owner.uid, (owner in has) - (owner in had))
                self._look((owner.kind, namespace, owner.name), min(_BATCH + _BATCH_PER_POD * count, _LONGEST_BATCH))
        if kind := _KIND_OF_APP.get(its.get(labels.NAME, "")):
            self._look((kind, namespace, its.get(labels.INSTANCE, "")), _BATCH)
        if not (old and new) and its.get(labels.NAME) == "slurmd":
            self._static_node(item)

    def _static_node(self, pod: Pod) -> None:
        """slurm.conf has static nodes that nobody asks for as long as their workers are there, and no longer."""
        key = (NodeSet.kind, pod.metadata.namespace, pod.metadata.labels.get(labels.INSTANCE, ""))
        node_set = self._caches.decoded(key)
        if not isinstance(node_set, NodeSet) or not (
            node_set.spec.registration is Registration.STATIC or pin(node_set)
        ):
            return
        if ordinal(pod) >= node_set.spec.possible_replicas:
            for controller in self._dependents(key):
                self._look(controller, _FEWER_NODES)

    def _counted(self, owner: str, change: int) -> int:
        count = self._pods_of.pop(owner, 0) + change
        if count > 0:
            self._pods_of[owner] = count
        return max(count, 0)

    def _machine(self, old: Machine | None, new: Machine | None) -> None:
        if old and new and _same_machine(old, new):
            return
        for key in [*self._caches.keys()]:
            decoded = self._caches.decoded(key) if key[0] == "NodeSet" else None
            if isinstance(decoded, NodeSet) and decoded.spec.scaling_mode is ScalingMode.DAEMON_SET:
                self._look(key, _BATCH)
        self._those_on(new or old)

    def _those_on(self, machine: Machine | None) -> None:
        """Whose workers are on a machine: they drain when it is cordoned."""
        pods = self._caches.pods.by("machine", machine.metadata.name) if machine else ()
        owners = {(one.kind, pod.metadata.namespace, one.name) for pod in pods for one in pod.metadata.owner_references}
        for key in sorted(owners):
            if key[0] == NodeSet.kind:
                self._look(key, _BATCH)


def _same_wish(old: Custom, new: Custom) -> bool:
    """Only the status changed, which is our own doing, or metadata that means nothing to us."""
    was, now = old.metadata, new.metadata
    return (was.generation, was.labels, was.annotations, was.deletion_timestamp, was.finalizers) == (
        now.generation, now.labels, now.annotations, now.deletion_timestamp, now.finalizers,
    )  # fmt: skip


def _same_machine(old: Machine, new: Machine) -> bool:
    return (old.spec, old.status, old.metadata.labels, old.metadata.annotations) == (
        new.spec, new.status, new.metadata.labels, new.metadata.annotations,
    )  # fmt: skip


def _names(resource: str, kind: Kind) -> set[str]:
    if resource == CONFIG_MAPS.kind:
        return {one.name for one in config_map_references(kind)}
    own = {token_secret(kind)} if isinstance(kind, Token) else set()
    return own | {selector.name for _, selector in secret_references(kind) if selector}
