"""Stories that every operator must bring to the same end, however often it dies or is lied to on the way."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from penstock.api.objects import Json
from penstock.render import labels

from .manifests import RESOURCES, Seen, sample, secret, token
from .port import Port
from .slurm_records import Node
from .world import World, world

_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z")
_MADE_ONCE = ("admin-jwt-slurm", "slurm-auth-slurm-ring", "slurm-login-ssh-host-keys")
End = dict[tuple[str, str], Json]
Story = Callable[[World], Awaitable[None]]


async def tell(port: Callable[[World, int], Port], story: Story) -> End:
    """Live through a story, and tell how the world is then.

    `port` gives each operator its way to the cluster; when one dies, the next is started a second later.
    """
    async with world() as here:
        supervisor = asyncio.create_task(_supervise(here, port))
        try:
            await story(here)
        finally:
            supervisor.cancel()
        assert all(job.ended is not None for job in here.slurm.jobs)
        return _end(here)


async def in_numbers(here: World) -> None:
    """Bring-up, out, in with jobs running, an edit, a new password, a token's refresh."""
    await here.apply([*sample(), token(lifetime="20m")])
    await rest(here)
    await here.scale(5)
    await here.until(lambda: len(here.slurm.nodes) == 5, within=300, what="five nodes")
    for number in range(5):
        here.slurm.submit(1, 240 if number < 2 else 160, on=f"compute-{number}")
    await asyncio.sleep(40)  # so that every operator knows that all are busy, and chooses the same to leave
    await here.scale(2)
    await here.edit("Controller", "slurm", spec={"extraConf": "MaxJobCount=4321"})
    await here.until(lambda: len(here.sight.workers()) == 2, within=600, what="two workers")
    await rest(here)
    await here.apply([secret("mariadb-password", password="another-secret-of-the-database")])
    await asyncio.sleep(1100)
    await rest(here)


async def rest(here: World) -> None:
    """Wait until nothing is under way, and Slurm has been asked once more."""
    await here.ready(within=600)
    await asyncio.sleep(40)
    await here.ready(within=600)


async def _supervise(here: World, port: Callable[[World, int], Port]) -> None:
    for number in range(1000):
        running = here.start(port(here, number))
        await asyncio.wait([running.task])
        await asyncio.sleep(1)


@contextmanager
def replayable(words: str) -> Iterator[None]:
    """Say how to see a failure again."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"replay: {words}")
        raise


def _end(here: World) -> End:
    """All that is the same whenever it happened, and whoever did it."""
    return {
        (kind, item.metadata.name): _lasting(kind, item)
        for kind in RESOURCES
        if kind not in {"Event", "Lease"}
        for item in here.sight.all(kind)
        if kind != "Pod" or item in here.sight.workers()
    } | {("Slurm", node.name): _last_seen(node) for node in here.slurm.nodes.values()}


def _last_seen(node: Node) -> Json:
    # Who gave a reason that is gone is there or not: a worker may register before its node is given back, or after.
    whose = {"reason_changed_at": "some time", "reason_set_by_user": node.by if node.reason else ""}
    return {**node.report(), **whose, "jobs": sorted(node.jobs)}


def _lasting(kind: str, item: Seen) -> Json:
    meta, data = item.metadata, item.data
    body: Json = {
        "labels": meta.labels, "annotations": meta.annotations, "spec": {**item.spec, "nodeName": ""},
        "owners": sorted((one.kind, one.name, one.controller) for one in meta.owner_references),
        "data": sorted(data) if meta.name in _MADE_ONCE else data,
        "status": item.status if kind != "Node" else {}, "revision": item.revision,
    }  # fmt: skip
    return {name: _masked(part) for name, part in body.items()}


def _masked(value: object) -> object:
    """Without times, and without hashes of what is made by chance, or has its time in it."""
    if isinstance(value, dict):
        return {
            name: "" if name in {labels.HOST_KEYS_HASH, labels.SLURM_KEY_HASH, "observedGeneration"} else _masked(part)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [_masked(part) for part in value]
    return _TIME.sub("some time", value) if isinstance(value, str) else value
