"""Connections to a real API server, over TLS: none is left when nobody needs it."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from contextlib import aclosing

import pytest

from penstock.cluster.kube import KubeCluster, find
from penstock.operator.resources import PODS

from .control_plane import ControlPlane


def test_a_watch_that_is_left_in_the_middle_leaves_no_socket(
    control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS would wait for the server's farewell, and the loop is over before it comes."""

    async def look_and_go() -> None:
        async with KubeCluster(find(control_plane.kubeconfig)) as cluster:
            since = (await cluster.list(PODS)).resource_version
            async with aclosing(cluster.watch(PODS, since=since)) as events:
                await anext(events)

    left: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: left.append(found.exc_value))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        for _ in range(10):
            asyncio.run(look_and_go())
            gc.collect()
    assert left == []
