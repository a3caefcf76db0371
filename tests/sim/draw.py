"""A seed becomes a schedule, the same each time.

Two hundred seeds in a row share a cluster, so that it need not be brought up for each of them, and ten in a row are
the acts of one play: what is left behind by one, drains and claims and records in Slurm, is what the next begins with.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from tests.simulation.port import Fault

from .schedule import MACHINES, Act, Cluster, Schedule, Set, Step

BLOCK: Final = 200
FAMILY: Final = 10
_LENGTH = 30.0
"""Seconds in which people and weather are busy."""
_SELDOM = 0.2
"""Of all acts."""
_MODES = 0.04
"""Of all acts in clusters with one NodeSet: of two on machines one would wait for the other's names for ever."""
_LARGE = 0.04
"""Of all acts: Slurm is as slow with its nodes as if there were thousands."""
_SHORTLY = 0.4
"""Seconds after a step in which the operator is at work on it."""
_About = dict[str, Any]
_FAULTS: Final = [fault.name for fault in Fault]


def schedule_of(seed: int) -> Schedule:
    """The schedule of a seed: all acts up to its own."""
    drawn = cluster_of(seed // BLOCK)
    return Schedule(drawn, tuple(act_of(one, drawn) for one in range(seed - seed % FAMILY, seed + 1)))


def cluster_of(block: int) -> Cluster:
    """The cluster that a block of seeds begins with."""
    chance = Random(f"cluster {block}")  # noqa: S311 - chance, not secrecy
    names = "ab"[: 1 if chance.random() < 0.7 else 2]
    first, *others = [_set(name, chance) for name in names]
    return Cluster(
        # Of two that want every machine one would wait for the other's names for ever, as it should.
        sets=(first, *(replace(one, per_machine=one.per_machine and not first.per_machine) for one in others)),
        leaders=2 if chance.random() < 0.06 else 1,
        history=chance.choice([10_000, 10_000, 10_000, 40]),
    )


def _set(name: str, chance: Random) -> Set:
    return Set(
        name=name,
        replicas=chance.choice([1, 2, 2, 2, 3, 3, 4]),
        per_machine=chance.random() < 0.08,
        claims=chance.random() < 0.7,
        policy=_policy(chance),
    )


def _policy(chance: Random) -> _About:
    """A part of a NodeSet's spec."""
    retention = {when: chance.choice(["Retain", "Delete"]) for when in ("whenDeleted", "whenScaled")}
    kind = chance.choice(["RollingUpdate", "RollingUpdate", "RollingUpdate", "OnDelete"])
    strategy = {"type": kind, "rollingUpdate": {"maxUnavailable": chance.choice([1, 2, "50%"])}}
    action = chance.choice(["Wait", "Requeue", "Cancel"])
    timeout = chance.choice(["2s", "8s"])
    return {
        "persistentVolumeClaimRetentionPolicy": retention,
        "updateStrategy": strategy,
        "drain": {"timeout": timeout, "onTimeout": action} if chance.random() < 0.5 else None,
    }


def act_of(seed: int, cluster: Cluster) -> Act:
    """What happens in one act."""
    chance = Random(f"act {seed}")  # noqa: S311
    names = [one.name for one in cluster.sets]
    deeds = [_moment(chance, _PEOPLE, names) for _ in range(chance.randint(2, 4))]
    weather = [_moment(chance, _WEATHER, names) for _ in range(chance.choice([0, 1, 1, 1, 1, 2]))]
    if cluster.leaders > 1 and chance.random() < 0.7:
        weather.append(_at(chance, "the leader is cut off", {"for": round(chance.uniform(8, 40), 1)}))
    steps = [*deeds, *(_timed(chance, one, deeds) for one in weather)]
    steps += [*_rarely(seed, names), *_modes(seed, names), *_long_answers(seed)]
    return Act(seed, tuple(sorted(steps, key=lambda step: step.at)))


def _rarely(seed: int, names: list[str]) -> list[Step]:
    chance = Random(f"rare {seed}")  # noqa: S311
    return [_moment(chance, _RARE, names)] if chance.random() < _SELDOM else []


def _modes(seed: int, names: list[str]) -> list[Step]:
    chance = Random(f"mode {seed}")  # noqa: S311
    if len(names) > 1 or chance.random() >= _MODES:
        return []
    return [_at(chance, "change the scaling mode", {"set": names[0]})]


def _long_answers(seed: int) -> list[Step]:
    chance = Random(f"long answers {seed}")  # noqa: S311
    if chance.random() >= _LARGE:
        return []
    about = {"seconds": chance.choice([0.7, 1.5, 4.0]), "count": chance.randint(0, 2), "later": chance.randint(0, 3)}
    about |= _for(10, 30)(chance)
    return [_at(chance, "all nodes take long to be told", about)]


def _timed(chance: Random, fault: Step, deeds: list[Step]) -> Step:
    """Half of the bad weather comes while the operator is at work."""
    if chance.random() < 0.5:
        return fault
    after = chance.choice(deeds).at + chance.uniform(0, _SHORTLY)
    return Step(round(after, 3), fault.what, fault.about)


def _moment(chance: Random, table: dict[str, tuple[float, Callable[[Random], _About]]], names: list[str]) -> Step:
    [what] = chance.choices(list(table), [weight for weight, _ in table.values()])
    about = table[what][1](chance)
    if "set" in about:
        about["set"] = chance.choice(names)
    return _at(chance, what, about)


def _at(chance: Random, what: str, about: _About) -> Step:
    return Step(round(chance.uniform(0, _LENGTH), 2), what, about)


def _worker(chance: Random) -> _About:
    return {"set": "", "worker": chance.randrange(6)}


def _edit(chance: Random) -> _About:
    return {"set": "", "text": f"v{chance.randrange(9)}"}


def _cordon(chance: Random) -> _About:
    prefix = chance.choice(["nodeset.slinky.slurm.net", "slinky.slurm.net"])
    return {**_worker(chance), "annotation": f"{prefix}/pod-cordon"}


def _machine(chance: Random) -> _About:
    return {"machine": chance.randrange(MACHINES)}


def _jobs(chance: Random) -> _About:
    length = chance.choice([2, 5, 10, 10, 20, 20, 40]) + chance.random()
    return {
        "set": "", "count": chance.choice([1, 1, 2]), "seconds": round(length, 2),
        "nodes": chance.choice([1, 1, 1, 2]), "half": chance.random() < 0.3,
    }  # fmt: skip


def _for(shortest: float, longest: float) -> Callable[[Random], _About]:
    return lambda chance: {"for": round(chance.uniform(shortest, longest), 1)}


_PEOPLE: dict[str, tuple[float, Callable[[Random], _About]]] = {
    "scale": (5, lambda chance: {"set": "", "replicas": chance.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])}),
    "submit jobs": (4, _jobs),
    "drain in Slurm": (1.5, _worker),
    "undrain in Slurm": (2, _worker),
    "delete a pod": (1, _worker),
    "delete a machine": (0.4, lambda chance: {**_machine(chance), "for": round(chance.uniform(1, 15), 1)}),
    "edit the template": (0.7, _edit),
    "ask for a window": (0.3, lambda chance: {**_edit(chance), "in": chance.randint(1, 12)}),
    "cordon a pod": (1.5, _cordon),
    "uncordon a pod": (2, _worker),
    "cordon a machine": (0.8, _machine),
    "uncordon a machine": (1.2, _machine),
    "change the policy": (1, lambda chance: {"set": "", "policy": _policy(chance)}),
    "delete the NodeSet": (0.5, lambda _: {"set": ""}),
    "make the NodeSet": (0.5, lambda chance: {"set": "", "replicas": chance.randint(1, 3)}),
}
"""What people do: how often, and the details."""

_RARE: dict[str, tuple[float, Callable[[Random], _About]]] = {
    "suspend a job": (3, lambda chance: {"job": chance.randrange(6), **_for(2, 40)(chance)}),
    "delete the NodeSet with its jobs": (1, lambda _: {"set": ""}),
    "break the Controller": (1, _for(2, 20)),
    "take a worker's name": (1, lambda chance: {**_worker(chance), **_for(2, 20)(chance)}),
}
"""What they do seldom."""

_WEATHER: dict[str, tuple[float, Callable[[Random], _About]]] = {
    "the operator crashes": (2, lambda chance: {"rounds": chance.randrange(30)}),
    "a call goes wrong": (5, lambda chance: {"call": chance.randrange(12), "fault": chance.choice(_FAULTS)}),
    "watches are silent": (1, _for(2, 25)),
    "watches break": (1, _for(2, 20)),
    "messages are slow": (1, lambda chance: {"up to": chance.choice([0.3, 1, 3]), **_for(2, 15)(chance)}),
    "slurmrestd is away": (1.2, _for(1, 25)),
    "slurmrestd is slow": (1, lambda chance: {"seconds": chance.choice([0.5, 3, 25]), **_for(2, 25)(chance)}),
    "slurmrestd is deaf": (0.8, _for(1, 20)),
    "answers of slurmrestd are lost": (1.5, lambda chance: {"count": chance.randint(1, 3)}),
    "slurmctld is killed": (1, _for(0.5, 8)),
    "somebody gives back what has just drained": (1, lambda chance: {"count": chance.randint(1, 2)}),
    "slurmrestd leaves out a node": (0.7, lambda chance: {**_worker(chance), **_for(2, 20)(chance)}),
    "a pod is not ready": (0.8, lambda chance: {**_worker(chance), **_for(0.5, 10)(chance)}),
    "a pod fails": (0.4, _worker),
    "no machine has room": (0.4, _for(2, 15)),
}
"""What goes wrong, likewise."""
