"""Operators broken on purpose, one function each, to see that the promises bite.

A mutant is bred in a process of its own: what is replaced here stays replaced. Names are given as text, so that a
function that has moved is found to be missing and not silently left as it was.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from penstock.cluster.port import ALWAYS

from .books import Promise

_HOUSE = "penstock.operator"
Make = Callable[[Any], Any]
"""Gives the broken function for the sound one."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mistake, and the promises of which it breaks one."""

    what: str
    place: str
    """Module and name of what is replaced: `nodeset.plan:_step`, `slurm:Slurm.waits`."""
    make: Make
    breaks: frozenset[Promise]

    def breed(self) -> None:
        """Replace it, in this process, for good."""
        owner, name = self.found()
        sound = owner.__dict__[name]
        broken = self.make(sound)
        # Others may have imported it by its name.
        for place in [owner, *(module for title, module in sys.modules.items() if title.startswith("penstock."))]:
            if place.__dict__.get(name) is sound:
                setattr(place, name, broken)

    def found(self) -> tuple[Any, str]:
        """Where it is; `KeyError` when it is not there any more."""
        module, _, path = self.place.partition(":")
        owner: Any = importlib.import_module(module if module.startswith("penstock.") else f"{_HOUSE}.{module}")
        *outer, name = path.split(".")
        for one in outer:
            owner = owner.__dict__[one]
        owner.__dict__[name]
        return owner, name


def _always(value: object) -> Make:
    return lambda _sound: lambda *_args, **_kwargs: value


def _idle_if_unknown(sound: Any) -> Any:
    """A plan's step that takes silence for leave to go."""

    def step(now: Any, one: Any) -> Any:
        decided = sound(now, one)
        if type(decided).__name__ != "Wait" or not decided.unknown:
            return decided
        return importlib.import_module(f"{_HOUSE}.nodeset.steps").Remove(decided.pod, "it may be idle", drained=False)

    return step


def _one_more(sound: Any) -> Any:
    return property(lambda now: sound.func(now) + 1)


def _whole(sound: Any) -> Any:
    del sound
    return lambda _now, staying: len(staying)


def _never_given_back(sound: Any) -> Any:
    return lambda *given: (sound(*given)[0], [])


def _never_drained(sound: Any) -> Any:
    return lambda *given: ([], sound(*given)[1])


def _looks_again_at_once(sound: Any) -> Any:
    async def reconcile(self: Any, context: Any, item: Any, node_set: Any) -> Any:
        return replace(await sound(self, context, item, node_set), again=0.0)

    return reconcile


def _for_whatever_reason(sound: Any) -> Any:
    def gone_with(self: Any, one: Any) -> Any:
        cause = importlib.import_module(f"{_HOUSE}.nodeset.steps").Cause.SCALE_IN
        return sound(self, replace(one, cause=cause))

    return gone_with


def _always_waiting(sound: Any) -> Any:
    return lambda self, controller, who, *, waiting: sound(self, controller, who, waiting=waiting or True)


def _for_ever(sound: Any) -> Any:
    def hold(self: Any, until: float) -> None:
        sound(self, until + 1e9)
        self.__dict__["_lose"] = lambda: None

    return hold


def _on_delete_too(sound: Any) -> Any:
    """Replaces old workers whatever the strategy says."""

    def outdated(now: Any, staying: Any) -> Any:
        found = sound(now, staying)
        steps = importlib.import_module(f"{_HOUSE}.nodeset.steps")
        old = [pod for pod in staying if not now.is_current(pod) and not pod.ended]
        return found or [steps.Leaving(pod, steps.Cause.UPDATE, "it is old") for pod in old[:1]]

    return outdated


def _nothing_to_wait_for(_sound: Any) -> Any:
    async def waits(_slurm: Any, going: Any) -> dict[str, str]:
        return dict.fromkeys(going, "")

    return waits


def _no_condition(_sound: Any) -> Any:
    return lambda **_conditions: ALWAYS


def _as_if_forsaken(sound: Any) -> Any:
    """Takes the Controller of a NodeSet that is deleted for gone, and its Slurm with it."""

    async def decide(*given: Any, **more: Any) -> Any:
        found = await sound(*given, **more)
        return replace(found, cluster=None, forsaken=True) if found.now.deleting else found

    return decide


class _Deaf:
    """Somebody on an errand who knows what was heard before, and asks nobody."""

    def __init__(self, errand: Any) -> None:
        self._errand = errand

    def __getattr__(self, name: str) -> Any:
        return getattr(self._errand, name)

    async def nodes_now(self) -> Any:
        """What Slurm said to somebody some time ago."""
        return self.context.slurm.nodes(self.cluster.controller)


def _as_heard_before(sound: Any) -> Any:
    async def step(errand: Any, what: Any) -> None:
        await sound(_Deaf(errand), what)

    return step


def _done_with_it(sound: Any) -> Any:
    async def act(*given: Any) -> Any:
        return replace(await sound(*given), unfinished=False)

    return act


def _nobody(_sound: Any) -> Any:
    async def with_jobs(*_given: Any) -> list[str]:
        return []

    return with_jobs


def _without_a_word(sound: Any) -> Any:
    """Lets workers go whose jobs are to be cancelled, before Slurm could have been asked."""

    def unanswered(now: Any, one: Any) -> Any:
        return sound(replace(now, slurm_silence=1e9), one)

    return unanswered


def _raises(_sound: Any) -> Any:
    """Hands on what it was to learn from."""

    def learn_from(_self: Any, error: Exception) -> Any:
        raise error

    return learn_from


def _before_the_old_go(sound: Any) -> Any:
    """Makes as many workers more as there are that leave for an update."""

    def missing(now: Any) -> Any:
        steps, leaving = (importlib.import_module(f"{_HOUSE}.nodeset.{name}") for name in ("steps", "leaving"))
        updated = sum(one.cause is steps.Cause.UPDATE for one in leaving.leaving(now))
        spec = now.node_set.spec
        spec = structs.replace(spec, replicas=spec.replicas + updated)
        return sound(replace(now, node_set=structs.replace(now.node_set, spec=spec)))

    return missing


def _in_silence(_sound: Any) -> Any:
    async def warn(client: Any, _policy: Any, order: Any) -> Any:
        return await client.jobs_on(order.nodes)

    return warn


def _with_cordons(sound: Any) -> Any:
    """Takes cordons off pods whose nodes drain: it has heard them."""

    def whose_drain(now: Any, pod: Any, report: Any, state: Any) -> Any:
        cordons = importlib.import_module(f"{_HOUSE}.nodeset.drains").CORDONS
        heard = [name for name in cordons if name in pod.metadata.annotations] if state and state.drain else []
        return {**sound(now, pod, report, state), **dict.fromkeys(heard)}

    return whose_drain


def _certainly(_sound: Any) -> Any:
    async def is_still_wished(_self: Any) -> bool:
        return True

    return is_still_wished


def _however_old(_sound: Any) -> Any:
    async def holds_until(*_given: Any) -> float:
        return math.inf

    return holds_until


def _in_anybodys_way(_sound: Any) -> Any:
    return lambda _self, nodes: nullcontext(frozenset(nodes))


def _mutant(what: str, place: str, make: Make, *breaks: Promise) -> Mutant:
    return Mutant(what, place, make, frozenset(breaks))


MUTANTS: dict[str, Mutant] = {
    "hasty": _mutant(
        "does not ask Slurm once more before a worker goes",
        "nodeset.removing:_may_go", _always(True), Promise.JOBS, Promise.DRAINED,
    ),
    "credulous": _mutant(
        "takes Slurm at its word however old that is",
        "nodeset.removing:_holds_until", _however_old, Promise.JOBS, Promise.DRAINED,
    ),
    "careless": _mutant(
        "takes a worker for idle of which Slurm does not say anything",
        "nodeset.plan:_step", _idle_if_unknown, Promise.JOBS, Promise.DRAINED,
    ),
    "helpful": _mutant(
        "gives back whatever is drained, by whomever",
        "nodeset.drains:is_our_drain", lambda _: lambda node: node.condition.drain, Promise.PEOPLE,
    ),
    "forgetful": _mutant(
        "never gives back what it drained",
        "nodeset.plan:cordon_orders", _never_given_back, Promise.OURS,
    ),
    "deaf": _mutant(
        "does not mind cordons", "nodeset.plan:cordon_orders", _never_drained, Promise.REST,
    ),
    "greedy": _mutant(
        "gives claims away with every worker that leaves",
        "nodeset.claims:Claims.gone_with", _for_whatever_reason, Promise.CLAIMS,
    ),
    "ownerless": _mutant(
        "does not give claims to their NodeSet",
        "nodeset.claims:Claims._base", lambda _: property(lambda _self: []), Promise.OWNERS,
    ),
    "miserly": _mutant(
        "keeps the claims of workers that go for scale-in", "nodeset.claims:Claims.gone_with", _always([]),
        Promise.OWNERS,
    ),
    "brutal": _mutant(
        "ends jobs as soon as they are warned", "nodeset.bounded:_end", _always(0), Promise.BOUND,
    ),
    "tidy": _mutant(
        "removes a partition whether jobs name it or not", "partitions:_waits", _nothing_to_wait_for,
        Promise.PARTITIONS,
    ),
    "pushing": _mutant(
        "deletes workers whose nodes it is about to give back, and gives back those whose workers it deletes",
        "right_of_way:RightOfWay.give_back", _in_anybodys_way, Promise.DRAINED,
    ),
    "blind": _mutant(
        "deletes whoever has the name", "nodeset.removing:Preconditions", _no_condition, Promise.BLIND,
    ),
    "generous": _mutant(
        "makes one worker too many", "nodeset.snapshot:Snapshot.desired", _one_more, Promise.COUNT, Promise.REST,
    ),
    "impatient": _mutant(
        "updates all workers at once", "nodeset.updates:budget", _whole, Promise.AVAILABLE,
    ),
    "eager": _mutant(
        "updates workers with OnDelete too", "nodeset.leaving:outdated", _on_delete_too, Promise.AVAILABLE,
    ),
    "restless": _mutant(
        "looks again as soon as it has looked", "nodeset.reconcile:NodeSets.reconcile", _looks_again_at_once,
        Promise.CALM,
    ),
    "curious": _mutant(
        "asks Slurm every second for ever", "slurm:Slurm.waits", _always_waiting, Promise.CALM,
    ),
    "usurper": _mutant(
        "believes that its lease never ends", "penstock.cluster.leader:Election._hold_until", _for_ever, Promise.LEADER,
    ),
    "ruthless": _mutant(
        "lets a deleted NodeSet go at once, with its workers",
        "nodeset.reconcile:NodeSets._decide", _as_if_forsaken, Promise.JOBS,
    ),
    "interrupting": _mutant(
        "drains a node without one more look at whose it is by now",
        "nodeset.act:_drain", _as_heard_before, Promise.PEOPLE,
    ),
    "dozing": _mutant(
        "does not look again at what met a conflict", "nodeset.reconcile:NodeSets._act", _done_with_it, Promise.REST,
    ),
    "rash": _mutant(
        "takes a Controller that it cannot read for gone", "references:unreadable", _always(None), Promise.JOBS,
    ),
    "unaware": _mutant(
        "does not know of suspended jobs", "nodeset.suspended:with_jobs", _nobody, Promise.JOBS,
    ),
    "abrupt": _mutant(
        "does not wait for Slurm to cancel the jobs of a NodeSet that is deleted with them",
        "nodeset.plan:_unanswered", _without_a_word, Promise.JOBS, Promise.DRAINED,
    ),
    "obliging": _mutant(
        "gives back a node without one more look at whose it is by now",
        "nodeset.act:_give_back", _as_heard_before, Promise.PEOPLE,
    ),
    "officious": _mutant(
        "takes cordons off pods as soon as their nodes drain", "nodeset.marks:_whose_drain", _with_cordons,
        Promise.PEOPLE,
    ),
    "trusting": _mutant(
        "takes a node that is idle for one that is drained",
        "penstock.slurm.nodestate:NodeState.drained", lambda _: property(lambda state: not state.busy), Promise.DRAINED,
    ),
    "silent": _mutant(
        "ends jobs that it did not warn", "nodeset.jobs:_warn", _in_silence, Promise.BOUND,
    ),
    "surging": _mutant(
        "makes new workers before the old ones have gone", "nodeset.plan:_missing", _before_the_old_go, Promise.COUNT,
    ),
    "unheeding": _mutant(
        "does not ask once more what people wish", "nodeset.errand:Errand.is_still_wished", _certainly,
        Promise.AVAILABLE,
    ),
    "fragile": _mutant(
        "falls over when a watch breaks", "penstock.cluster.informer:Informer._learn_from", _raises, Promise.ALIVE,
    ),
    "stubborn": _mutant(
        "lets no worker go", "nodeset.leaving:leaving", _always([]), Promise.REST,
    ),
}  # fmt: skip
"""By name."""
