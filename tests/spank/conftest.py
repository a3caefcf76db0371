"""The plugin of every suite on a node of its own, for all tests of a session."""

from collections.abc import Iterator

import pytest

import spank
from penstock.images.recipe import book
from rootfs import rootfs

from .walled import Walled, walled_node


@pytest.fixture(scope="session", params=list(book().suites))
def node(request: pytest.FixtureRequest) -> Iterator[Walled]:
    """Give a node with people of every class; a test that asks for it runs once per suite."""
    suite = str(request.param)
    with walled_node(rootfs(suite), spank.plugin(suite)) as running:
        yield running
