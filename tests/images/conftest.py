"""The images of every suite, built on first use into the cache that all tests share."""

from __future__ import annotations

import pytest

from penstock.images.build import build
from penstock.images.errors import ImageError
from penstock.images.library import Image, Library
from penstock.images.recipe import book
from rootfs import images_directory

Images = dict[str, Image]


@pytest.fixture(scope="session")
def library() -> Library:
    """The library that tests share."""
    return Library(images_directory())


@pytest.fixture(scope="session", params=book().suites)
def suite(request: pytest.FixtureRequest) -> str:
    """Every suite: what is promised is promised for each."""
    return str(request.param)


# Per module: some have a `suite` of their own, and what was made for it must not be taken for another's.
@pytest.fixture(scope="module")
def images(library: Library, suite: str) -> Images:
    """All images of a suite by their roles."""
    try:
        return {image.role: image for image in build(library, (), suite)}
    except ImageError as problem:
        pytest.fail(f"no images of {suite}: {problem}", pytrace=False)
