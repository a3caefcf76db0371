"""The plugin of every suite on a node of its own, for all tests of a session."""

from collections.abc import Iterator

import pytest

import spank
from penstock.images.recipe import book
from rootfs import rootfs

from .squashed import squash
from .walled import Walled, walled_node


@pytest.fixture(scope="session", params=list(book().suites))
def node(request: pytest.FixtureRequest) -> Iterator[Walled]:
    """Give a node with people of every class; a test that asks for it runs once per suite."""
    suite = str(request.param)
    with walled_node(rootfs(suite), spank.plugin(suite), suite) as running:
        yield running


@pytest.fixture(scope="session")
def squashed(node: Walled) -> str:
    """A small image as a squashfs file, where the node sees it."""
    suite = node.suite
    squash(rootfs(suite), rootfs(suite, "squashfs"), node.mini.place / "shared/image.sqsh")
    node.say("cp", "/run/shared/image.sqsh", "/images/small.sqsh")
    return "/images/small.sqsh"
