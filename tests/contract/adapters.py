"""The adapters that the suite runs against. This is the place to plug one in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from penstock.cluster.port import Cluster
from penstock.cluster.store import Store

from .machine_adapter import machine_api

Opens = Callable[[Path], AbstractAsyncContextManager[Cluster]]
"""Opens a cluster for one test; the directory is empty and the test's own."""

ADAPTERS: dict[str, Opens] = {
    "store-memory": lambda _: Store(),
    "store-sqlite": lambda directory: Store(directory / "store.db"),
    "machine-api": lambda _: machine_api(),
}
"""By the name that stands behind a test's own: `test_x[store-memory]`."""
