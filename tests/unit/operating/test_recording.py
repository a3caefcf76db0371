"""How Slurm is told about its nodes: one request for a group of them, and once (NS-7).

The played slurmrestd answers here; the real ones are asked in `tests/real_slurm/test_node_records.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.cluster.virtual_time import run
from tests.played.slurm_desk import Desk
from tests.played.slurm_model import Model, Release
from tests.played.telling import NAMESPACE, DeskTransport, Telling, telling

from penstock.api.controller import Controller
from penstock.operator.nodeset.marks import TOPOLOGY
from penstock.operator.nodeset.records import FEATURES

KEY = b"a key of exactly thirty-two byte"
UPDATE = "POST nodes/"


class Scene:
    """A NodeSet, and a played Slurm whose requests are counted."""

    def __init__(self, stage: Telling, model: Model, transport: DeskTransport) -> None:
        self.stage, self.model, self.transport = stage, model, transport

    async def workers(self, *nodes: str) -> None:
        """Workers, each on a machine of its own name."""
        self.model.add(nodes, features=("w",), active_features=("w",))
        for node in nodes:
            await self.stage.worker(node, f"m-{node}")

    async def machines(self, *nodes: str, **annotations: str) -> None:
        """What their machines say."""
        for node in nodes:
            await self.stage.machine(f"m-{node}", **annotations)

    def known(self) -> set[str]:
        """The nodes that the operator knows, without asking Slurm."""
        controller = self.stage.context.caches.decoded(("Controller", NAMESPACE, "slurm"))
        assert isinstance(controller, Controller)
        known = self.stage.context.slurm.nodes(controller)
        return set(known.nodes if known else ())

    def shown(self, field: str, *nodes: str) -> list[Any]:
        """What Slurm has."""
        return [getattr(self.model.nodes[node], field) for node in nodes]


@asynccontextmanager
async def scene(release: Release = Release.R26_05, **settings: Any) -> AsyncIterator[Scene]:
    """A scene without workers."""
    model = Model(release=release, **settings)
    transport = DeskTransport(Desk(model))
    async with telling(KEY, connect=lambda _: transport) as stage:
        yield Scene(stage, model, transport)


def test_a_group_of_nodes_is_told_in_one_request() -> None:
    async def main() -> None:
        nodes = [f"w{number}" for number in range(50)]
        async with scene(topologies=frozenset({"sw"})) as now:
            await now.workers(*nodes)
            await now.machines(*nodes[:30], **{TOPOLOGY: "sw:s1", FEATURES: "fast"})
            await now.machines(*nodes[30:], **{TOPOLOGY: "sw:s2", FEATURES: "fast"})
            told = await now.stage.look()
            assert (told.trouble, told.refusals, told.more) == ("", [], False)
            assert now.transport.orders() == [UPDATE] * 3
            assert now.shown("topology", *nodes) == ["sw:s1"] * 30 + ["sw:s2"] * 20
            assert now.shown("features", "w0", "w49") == [("w", "k8s/fast")] * 2
            assert now.shown("active_features", "w0", "w49") == [("w", "k8s/fast")] * 2
            await now.stage.look()
            assert now.transport.orders() == []

    run(main())


def test_what_slurm_was_told_is_not_told_again_before_it_was_asked() -> None:
    """A look may come any moment, and Slurm is asked every half minute; but only the same thing is not told again."""

    async def main() -> None:
        async with scene(topologies=frozenset({"sw"})) as now:
            await now.workers("w0", "w1")
            await now.machines("w0", "w1", **{FEATURES: "fast"})
            before = await now.stage.observe()
            for _ in range(3):
                await now.stage.look(before)
            assert now.transport.orders() == [UPDATE]
            await now.machines("w1", **{FEATURES: "slow"})
            machines = (await now.stage.observe()).machines
            await now.stage.look(before, machines=machines)
            assert now.transport.orders() == [UPDATE]
            assert now.shown("features", "w0", "w1") == [("w", "k8s/fast"), ("w", "k8s/slow")]

    run(main())


def test_a_refusal_is_told_as_long_as_it_stands_and_asked_for_seldom() -> None:
    async def main() -> None:
        async with scene() as now:
            await now.workers("w0", "w1")
            await now.machines("w0", "w1", **{TOPOLOGY: "nowhere:s1"})
            for _ in range(3):
                told = await now.stage.look()
                [words] = told.refusals
                assert words.startswith("w[0-1]: topology_str=nowhere:s1: ")
                assert words.endswith("Requested topology configuration is not available")
                assert told.trouble == ""
            assert now.transport.orders() == [UPDATE]
            await asyncio.sleep(301)
            await now.stage.look()
            assert now.transport.orders() == [UPDATE]
            await now.machines("w0", "w1", **{TOPOLOGY: "default:s1"})
            assert (await now.stage.look()).refusals == []
            assert now.shown("topology", "w0", "w1") == ["default:s1"] * 2

    run(main())


def test_24_11_is_not_told_what_it_cannot_do() -> None:
    async def main() -> None:
        async with scene(Release.R24_11) as now:
            await now.workers("w0")
            await now.machines("w0", **{TOPOLOGY: "default:s1", FEATURES: "fast"})
            assert (await now.stage.look()).refusals == []
            assert now.transport.orders() == [UPDATE]
            assert now.shown("features", "w0") == [("w", "k8s/fast")]

    run(main())


def test_what_does_not_reach_slurm_is_told_again() -> None:
    async def main() -> None:
        async with scene() as now:
            await now.workers("w0")
            await now.machines("w0", **{FEATURES: "fast"})
            before = await now.stage.observe()
            now.transport.broken = True
            assert (await now.stage.look(before)).trouble == "nobody answers"
            now.transport.broken = False
            assert (await now.stage.look(before)).trouble == ""
            assert now.shown("features", "w0") == [("w", "k8s/fast")]

    run(main())


def test_a_node_that_is_gone_by_now_makes_us_ask_slurm() -> None:
    """One unknown name spoils the request for all; the next look knows better."""

    async def main() -> None:
        async with scene() as now:
            await now.workers("w0", "w1")
            await now.machines("w0", "w1", **{FEATURES: "fast"})
            before = await now.stage.observe()
            now.model.forget("w1")
            await asyncio.sleep(2)
            assert "Invalid node name" in (await now.stage.look(before)).trouble
            assert now.known() == {"w0"}
            assert (await now.stage.look()).trouble == ""
            assert now.shown("features", "w0") == [("w", "k8s/fast")]

    run(main())


def test_while_slurm_does_not_answer_it_is_told_nothing() -> None:
    async def main() -> None:
        async with scene() as now:
            await now.workers("w0")
            await now.machines("w0", **{FEATURES: "fast"})
            told = await now.stage.look(slurm=None)
            assert (told.trouble, told.refusals, told.more) == ("", [], False)
            assert now.transport.orders() == []

    run(main())
