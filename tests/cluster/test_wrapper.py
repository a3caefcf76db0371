"""Who stands before a cluster passes on all that it is given; and all who answer have the port's own defaults."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, cast, get_args

import pytest

from penstock.cluster.kube import KubeCluster
from penstock.cluster.metered import Metered
from penstock.cluster.port import Cluster
from penstock.cluster.rehearsal import Rehearsal
from penstock.cluster.store import Store
from penstock.cluster.wrapper import Read, Wrapper, Write

from .every_verb import EVERY_VERB, NODE_SETS

VERBS = sorted(name for name in vars(Cluster) if not name.startswith("_"))
STREAMS = {"watch", "logs"}


class Recorder:
    """A cluster that only takes note of how it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, object]]] = []

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def note(*positional: object, **named: object) -> str:
            bound = inspect.signature(getattr(Cluster, verb)).bind(self, *positional, **named)
            self.asked.append((verb, {name: value for name, value in bound.arguments.items() if name != "self"}))
            return f"answer to {verb}"

        async def later(*positional: object, **named: object) -> str:
            return note(*positional, **named)

        return note if verb in STREAMS else later


def test_the_verbs_are_those_of_the_port() -> None:
    assert sorted((*get_args(Read), *get_args(Write))) == sorted(EVERY_VERB) == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_and_the_answer_are_passed_on(verb: str) -> None:
    parameters = list(inspect.signature(getattr(Cluster, verb)).parameters.values())[1:]
    given = {one.name: NODE_SETS if one.name == "resource" else object() for one in parameters}
    positional = [given[one.name] for one in parameters if one.kind is not one.KEYWORD_ONLY]
    named = {one.name: given[one.name] for one in parameters if one.kind is one.KEYWORD_ONLY}

    async def main() -> tuple[Recorder, object]:
        recorder = Recorder()
        answer = getattr(Wrapper(cast(Cluster, recorder)), verb)(*positional, **named)
        return recorder, answer if verb in STREAMS else await answer

    recorder, answer = asyncio.run(main())
    assert recorder.asked == [(verb, given)]
    assert answer == (None if verb in {"scale", "delete", "evict"} else f"answer to {verb}")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", [Wrapper, Metered, Rehearsal, Store, KubeCluster])
def test_what_is_not_said_means_the_same_to_all(kind: type[object], verb: str) -> None:
    """Types are checked by mypy; defaults by nobody."""
    assert defaults(kind, verb) == defaults(Cluster, verb)


def defaults(kind: type[object], verb: str) -> list[tuple[str, object, object]]:
    """The parameters of a verb, how they are given, and what they are when they are not."""
    return [(one.name, one.kind, one.default) for one in inspect.signature(getattr(kind, verb)).parameters.values()]
