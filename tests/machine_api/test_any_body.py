"""No body, however wrong, makes the server fall over: it is taken, or refused in words."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from .machine import Machine, run

JUNK: list[Any] = [None, 5, -1, "x", "", [], {}, [1], {"a": 1}, True, [None], [{}], {"a": None}, [{"name": 5}], 1.5]
META = {
    "name": "p",
    "labels": {"a": "b"},
    "finalizers": ["a/b"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}],
}
SPEC = {
    "nodeName": "m",
    "terminationGracePeriodSeconds": 3,
    "containers": [{"name": "main", "env": [{"name": "a", "value": "b"}], "ports": [{"containerPort": 80}]}],
    "volumes": [{"name": "v"}],
}
SELECTOR = {"matchLabels": {"a": "b"}}
BODIES: dict[str, Any] = {
    "/api/v1/namespaces/d/pods": {
        "metadata": META,
        "spec": SPEC,
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    },
    "/apis/slinky.slurm.net/v1beta1/namespaces/d/nodesets": {
        "metadata": META,
        "spec": {"controllerRef": {"name": "x"}, "replicas": 1, "template": {"spec": SPEC}},
        "status": {"selector": "a", "nodeSetHash": "x"},
    },
    "/apis/policy/v1/namespaces/d/poddisruptionbudgets": {
        "metadata": META,
        "spec": {"minAvailable": 1, "selector": SELECTOR},
    },
    "/apis/apps/v1/namespaces/d/deployments": {
        "metadata": META,
        "spec": {"replicas": 1, "selector": SELECTOR, "template": {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}},
        "status": {"replicas": 1},
    },
    "/api/v1/namespaces/d/secrets": {"metadata": META, "data": {"a": "Yg=="}, "stringData": {"x": "y"}},
}
OPTIONS = {"gracePeriodSeconds": 0, "preconditions": {"uid": "x"}}


@pytest.mark.parametrize("seed", range(4))
def test_no_body_is_too_much(seed: int) -> None:
    async def test(machine: Machine) -> None:
        chance = random.Random(seed)  # noqa: S311 - a game, no secret
        for _ in range(250):
            method, path, body, kind = _request(chance)
            code, answer = await machine.ask(method, path, body, kind=kind, fieldManager=chance.choice(["a", "b"]))
            assert code < 500, (method, path, body, answer)

    run(test)


def _request(chance: random.Random) -> tuple[str, str, Any, str]:
    path, base = chance.choice(list(BODIES.items()))
    one, body = f"{path}/p", _spoilt(base, chance)
    operation = {
        "op": chance.choice(["add", "remove", "replace", "move", "test", "copy"]),
        "path": "/" + "/".join(map(str, chance.choice(list(_places(base))))),
        "from": "/metadata",
        "value": chance.choice(JUNK),
    }
    return chance.choice(
        [
            ("POST", path, body, "application/json"),
            ("POST", path, body, "application/json"),
            ("PUT", one, body, "application/json"),
            ("PUT", f"{one}/status", body, "application/json"),
            ("PATCH", one, body, "application/apply-patch+yaml"),
            ("PATCH", one, body, "application/merge-patch+json"),
            ("PATCH", one, body, "application/strategic-merge-patch+json"),
            ("PATCH", one, [operation], "application/json-patch+json"),
            ("PATCH", f"{one}/scale", _spoilt({"spec": {"replicas": 2}}, chance), "application/merge-patch+json"),
            ("POST", "/api/v1/namespaces/d/pods/p/eviction", _spoilt({"deleteOptions": OPTIONS}, chance), ""),
            ("DELETE", one, _spoilt(OPTIONS, chance), "application/json"),
            ("DELETE", one, {"gracePeriodSeconds": 0}, "application/json"),
        ]
    )


def _spoilt(body: Any, chance: random.Random) -> Any:
    """The body with junk in one place."""
    spoilt = copy.deepcopy(body)
    *way, last = chance.choice([place for place in _places(body) if place])
    part = spoilt
    for step in way:
        part = part[step]
    part[last] = copy.deepcopy(chance.choice(JUNK))
    return spoilt


def _places(value: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield so_far
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        yield from _places(part, (*so_far, step))
