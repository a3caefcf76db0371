"""A model of daemons with rings of keys: each works with the ring that it read last, and reads when it is told to.

To each kubelet shows a changed ring after a while. It keeps the books of a promise: two daemons that do not understand
each other are a `misunderstanding`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from penstock.api.objects import Json
from penstock.cluster.resources import Whole
from penstock.slurm.keyring import FILE, Ring, Written

from .loop import now
from .sight import Sight

_SHOWN_AFTER = 90.0
"""Seconds until the slowest kubelet shows a changed Secret."""


@dataclass(slots=True)
class Daemon:
    """A daemon, and the ring that it works with."""

    pod: str
    secret: str
    began: float
    ring: Ring


@dataclass(slots=True)
class Keys:
    """Who holds which ring."""

    sight: Sight
    daemons: dict[str, Daemon] = field(default_factory=dict)
    """By the pod's uid."""
    away: set[str] = field(default_factory=set)
    """Names of pods whom nobody reaches."""
    misunderstandings: list[str] = field(default_factory=list)
    _written: dict[str, list[tuple[float, Ring]]] = field(default_factory=dict)

    def watch(self) -> None:
        """Take note of every ring that is written."""
        self.sight.subscribe("Secret", self._secret)

    def mountable(self, pod: Whole) -> bool:
        """Whether the ring that a pod mounts is there."""
        return all(self.sight.get("Secret", secret) for secret in ring_secrets(pod.spec))

    def ready(self, pod: Whole) -> None:
        """A daemon has started, with the newest ring there is."""
        for secret in ring_secrets(pod.spec):
            meta, began = pod.metadata, now()
            self.daemons[meta.uid] = Daemon(meta.name, secret, began, self._written[secret][-1][1])
        self._meet()

    def gone(self, pod: Whole) -> None:
        """A daemon has ended."""
        self.daemons.pop(pod.metadata.uid, None)

    def reconfigured(self) -> None:
        """Everybody within reach is told to read, and reads what is shown: the newest, or a while before that."""
        for daemon in self.daemons.values():
            if daemon.pod not in self.away:
                shown = [
                    ring for at, ring in self._written[daemon.secret] if at <= max(now() - _SHOWN_AFTER, daemon.began)
                ]
                daemon.ring = shown[-1]
        self._meet()

    def held(self) -> set[Ring]:
        """The rings that somebody works with."""
        return {daemon.ring for daemon in self.daemons.values()}

    def _secret(self, _old: Whole | None, new: Whole | None) -> None:
        if new is not None and FILE in self.sight.values_of(new):
            ring = Written.read(self.sight.values_of(new)[FILE]).ring
            self._written.setdefault(new.metadata.name, []).append((now(), ring))

    def _meet(self) -> None:
        # Of thousands of daemons hardly any two differ in what they hold.
        held = {(daemon.secret, daemon.ring) for daemon in self.daemons.values()}
        if all(one.understands(other) for (secret, one), (same, other) in product(held, repeat=2) if secret == same):
            return
        for one in self.daemons.values():
            for other in self.daemons.values():
                if one.secret == other.secret and not one.ring.understands(other.ring):
                    self.misunderstandings.append(f"{one.pod} does not understand {other.pod} at {now():.0f} s")


def ring_secrets(spec: Json) -> Iterator[str]:
    """The Secret of the ring that a pod mounts."""
    for volume in spec.get("volumes", ()):
        for source in volume.get("projected", {}).get("sources", ()):
            if any(item["path"] == FILE for item in source.get("secret", {}).get("items", ())):
                yield source["secret"]["name"]
