"""Stories told side by side: most of their time is waiting, so they wait together.

Each has a namespace and a directory of its own, and runs its own operators. A test waits for the end of one story.
Whoever tells them uses the fixture `fake_nodes`: workers need machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .control_plane import ControlPlane
from .operator_process import PATIENCE
from .operator_world import Json, World
from .specs import an_object

KEY = "a key of more than thirty-two characters"
KEYS: Json = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "keys"},
    "stringData": {"slurm.key": KEY},
}
CONTROLLER = an_object("Controller", "slurm", {"persistence": {"enabled": False}})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a story happens."""

    world: World
    directory: Path


Story = Callable[[Place], None]
Told = Callable[[Story], None]


def cpu(replicas: int) -> Json:
    """A NodeSet whose workers share machines, for there are few of those."""
    return an_object("NodeSet", "cpu", {"replicas": replicas, "oversubscribeNode": True})


@contextmanager
def telling(plane: ControlPlane, directory: Path, *stories: Story) -> Iterator[Told]:
    """Begin all stories; what is given waits for the end of one, and raises what went wrong in it."""
    with ThreadPoolExecutor(len(stories)) as threads:
        begun = {story: threads.submit(story, _place(plane, directory, story)) for story in stories}
        yield lambda story: begun[story].result(4 * PATIENCE)


def _place(plane: ControlPlane, directory: Path, story: Story) -> Place:
    name = story.__name__.replace("_", "-")
    status, answer = plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert status == 201, answer
    own = directory / name
    own.mkdir()
    return Place(World(plane, name), own)
