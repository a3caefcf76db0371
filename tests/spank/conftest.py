"""The plugin of every suite on a node of its own, for all tests of a session."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_slurm.conftest import ROOT, slurm
from tests.real_slurm.slurm_parser import SlurmParser

from .walled import Walled, walled_node

__all__ = ["slurm"]


@pytest.fixture(scope="session")
def node(slurm: SlurmParser) -> Iterator[Walled]:
    """Give a node with people of every class; a test that asks for it runs once per suite."""
    with walled_node(slurm.root, Path("/tmp/h2dev/so/penstock.so")) as running:
        yield running
