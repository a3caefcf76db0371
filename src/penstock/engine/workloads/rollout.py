"""How large each ReplicaSet of a Deployment should be now: Kubernetes' own rules, as a pure function over one moment.

Together they never ask for more than wanted plus surge, and nothing that serves goes as long as that would leave fewer
than wanted minus unavailable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.engine.workloads.bounds import fenceposts


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """The pods of one template: how many are asked for, and how many of them serve."""

    name: str
    size: int
    available: int
    staying: int = 0
    """Pods that are there and nobody has deleted yet; more than asked for when a deletion did not get through."""
    pods: int = 0
    """Those that are there, leaving ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a Deployment asks for."""

    replicas: int
    recreate: bool = False
    max_surge: int | str = "25%"
    max_unavailable: int | str = "25%"
    paused: bool = False

    @property
    def bounds(self) -> tuple[int, int]:
        """How many pods more, and how many fewer than wanted there may be."""
        return (0, self.replicas) if self.recreate else fenceposts(self.max_surge, self.max_unavailable, self.replicas)


Sizes = Mapping[str, int]
"""By name: only of those whose size changes."""


def sizes(wish: Wish, new: Crew | None, old: Sequence[Crew]) -> Sizes:
    """What to change now. `old` has the oldest first; `new` is None as long as its ReplicaSet is not there."""
    if wish.paused:
        return _resized(wish, new, old)
    if wish.recreate:
        return _recreated(wish, new, old)
    if new is None:
        return {}
    target = first_size(wish, new, old)
    return {new.name: target} if target != new.size else _shrunk(wish, new, old)


def first_size(wish: Wish, new: Crew | None, old: Sequence[Crew]) -> int:
    """The size that the newest may have, besides those that are there."""
    if wish.recreate:
        return wish.replicas
    size = new.size if new else 0
    if size >= wish.replicas:
        return wish.replicas
    room = wish.replicas + wish.bounds[0] - size - sum(max(crew.size, crew.staying) for crew in old)
    return size + min(max(0, room), wish.replicas - size)


def _resized(wish: Wish, new: Crew | None, old: Sequence[Crew]) -> Sizes:
    """While nothing rolls, scaling still works: what is there takes it, the newest of it first."""
    there = [crew for crew in [*old, *([new] if new else [])] if crew.size > 0]
    surplus = sum(crew.size for crew in there) - wish.replicas
    if not there:
        return {new.name: wish.replicas} if new and wish.replicas else {}
    if surplus < 0:
        return {there[-1].name: there[-1].size - surplus}
    return _taken(there, surplus)


def _recreated(wish: Wish, new: Crew | None, old: Sequence[Crew]) -> Sizes:
    """Nothing of the new template before all of the old one is gone."""
    if any(crew.size for crew in old):
        return {crew.name: 0 for crew in old if crew.size}
    if new is None or any(crew.pods for crew in old) or new.size == wish.replicas:
        return {}
    return {new.name: wish.replicas}


def _shrunk(wish: Wish, new: Crew, old: Sequence[Crew]) -> Sizes:
    """Let old ones go: first what does not serve, then as many as can be spared."""
    least = wish.replicas - wish.bounds[1]
    all_together = new.size + sum(crew.size for crew in old)
    most = all_together - least - (new.size - min(new.size, new.available))
    if most <= 0:
        return {}
    broken = {crew.name: crew.size - min(crew.size, crew.available) for crew in old}
    cleaned: dict[str, int] = {}
    for crew in old:
        gone = min(broken[crew.name], most - sum(cleaned.values()))
        cleaned[crew.name] = gone
    serving = min(new.size, new.available) + sum(min(crew.size, crew.available) for crew in old)
    left = [Crew(name=crew.name, size=crew.size - cleaned[crew.name], available=crew.available) for crew in old]
    after = {crew.name: crew.size for crew in left} | _taken(left, max(0, serving - least))
    return {crew.name: after[crew.name] for crew in old if after[crew.name] != crew.size}


def _taken(crews: Sequence[Crew], surplus: int) -> dict[str, int]:
    """Sizes after so many pods are taken away, from the first on."""
    found: dict[str, int] = {}
    for crew in crews:
        gone = min(crew.size, surplus)
        if gone > 0:
            found[crew.name] = crew.size - gone
            surplus -= gone
    return found
