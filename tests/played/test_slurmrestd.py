"""The played slurmrestd fails as told, counts, and is fast enough not to be what a bench measures."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.request import urlopen

import pytest

from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.errors import SlurmError, SlurmRefused, SlurmUnreachable
from penstock.slurm.rest.transport import Transport
from tests.kube.control_plane import ROOT

from .slurmrestd import Fault, Slurmrestd, playing
from .started_twice import as_slurm_shows_it


@asynccontextmanager
async def asking(nodes: int = 3) -> AsyncIterator[tuple[Slurmrestd, SlurmRest]]:
    """A played slurmrestd, and our client that has found its version."""
    async with playing(f"w{number}" for number in range(nodes)) as slurmrestd:
        transport = Transport(slurmrestd.url, timeout=5)
        rest = SlurmRest(transport, token=lambda: "token")
        await rest.version()
        try:
            yield slurmrestd, rest
        finally:
            await transport.close()


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.ERROR, SlurmUnreachable),
        (Fault.CLOSE, SlurmUnreachable),
        (Fault.HALF, SlurmUnreachable),
        (Fault.AWAY, SlurmUnreachable),
        (Fault.DENIED, SlurmRefused),
    ],
)
def test_a_fault_lasts_as_often_as_told(fault: Fault, error: type[SlurmError]) -> None:
    async def twice() -> None:
        async with asking() as (slurmrestd, rest):
            slurmrestd.fail(fault, times=2, path="node")  # a read over an old connection is tried once more
            with pytest.raises(error):
                await rest.node("w1")
            slurmrestd.fail(fault, times=1, method="POST")
            assert (await rest.ping())[0].responding
            slurmrestd.heal()
            assert (await rest.node("w1")).name == "w1"

    asyncio.run(twice())


def test_who_hangs_is_answered_when_healed() -> None:
    async def hanging() -> None:
        async with asking() as (slurmrestd, rest):
            slurmrestd.fail(Fault.HANG)
            waiting = asyncio.create_task(rest.nodes())
            await slurmrestd.until(lambda played: played.counts.get("GET nodes/", {}).get("0") == 1)
            assert not waiting.done()
            slurmrestd.heal()
            assert (await waiting) is not None

    asyncio.run(hanging())


def test_a_lost_answer_is_not_a_lost_order() -> None:
    async def lost() -> None:
        async with asking() as (slurmrestd, rest):
            slurmrestd.fail(Fault.CLOSE, times=1, method="POST")
            with pytest.raises(SlurmUnreachable):
                await rest.update_nodes(["w1"], state=["DRAIN"], reason="a test")
            assert "DRAIN" in slurmrestd.model.nodes["w1"].state
            assert slurmrestd.counts["POST nodes/"] == {"0": 1}

    asyncio.run(lost())


def test_without_a_token_nobody_is_answered() -> None:
    async def attempt() -> None:
        async with playing(["w1"]) as slurmrestd:
            transport = Transport(slurmrestd.url)
            assert (await transport.send("GET", "/slurm/v0.0.45/nodes/", {})).status == 401
            await transport.close()

    asyncio.run(attempt())


def test_jobs_end_and_nodes_wake_when_told() -> None:
    async def story() -> list[str]:
        async with asking() as (slurmrestd, rest):
            model, states = slurmrestd.model, []
            model.wakes_slowly = True
            model.start_job(7, "w1")
            await rest.update_nodes(["w1"], state=["DRAIN"], reason="a test")
            model.end_job(7)
            states.append(" ".join((await rest.node("w1")).state))
            await rest.update_nodes(["w1"], state=["RESUME"])
            states.append(" ".join((await rest.node("w1")).state))
            model.woken()
            states.append(" ".join((await rest.node("w1")).state))
            return states

    told = ["IDLE DRAIN DYNAMIC_NORM", "IDLE NOT_RESPONDING DYNAMIC_NORM", "IDLE DYNAMIC_NORM"]
    assert asyncio.run(story()) == told


def test_what_changes_in_the_second_of_an_answer_comes_with_the_next() -> None:
    """Slurm's clock counts seconds; asked with the time of the last answer, nothing is missed."""

    async def asked() -> list[bool]:
        async with asking() as (slurmrestd, rest):
            model, news = slurmrestd.model, []
            seconds = float(model.updated + 10)
            model.clock = lambda: seconds
            first = await rest.nodes()
            assert first is not None
            for change, later in ((None, 0), ("a", 0), (None, 1), (None, 1)):
                seconds += later
                if change:
                    model.change("w1", comment=change)
                found = await rest.nodes(since=first.updated)
                news.append(found is not None)
                first = found or first
            return news

    assert asyncio.run(asked()) == [False, True, True, False]


def test_five_thousand_nodes_are_encoded_once_per_change() -> None:
    async def polled() -> tuple[int, int]:
        async with asking(5000) as (slurmrestd, rest):
            for _ in range(3):
                found = await rest.nodes()
                assert found is not None
                assert len(found.nodes) == 5000
            before = slurmrestd.writer.encodings
            slurmrestd.model.change("w4999", comment="changed")
            for _ in range(2):
                await rest.nodes()
            return before, slurmrestd.writer.encodings

    assert asyncio.run(polled()) == (1, 2)


def test_the_program_says_where_it_is_and_what_was_asked() -> None:
    command = [sys.executable, "-m", "tests.played.slurmrestd", "--nodes", "compute-[0-4]"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as program:  # noqa: S603 - ours
        assert program.stdout is not None
        url = program.stdout.readline().strip()

        async def ask() -> int:
            transport = Transport(url)
            found = await SlurmRest(transport, token=lambda: "x").nodes()
            await transport.close()
            return len(found.nodes) if found else 0

        assert asyncio.run(ask()) == 5
        counts = {"GET nodes/": {"200": 1}, "GET ping/": {"200": 1}}
        with urlopen(f"{url}/counts") as answer:  # noqa: S310 - loopback
            assert json.load(answer) == counts
        program.send_signal(signal.SIGTERM)
        assert json.loads(program.stdout.readline()) == counts
    assert program.returncode == 0


def test_a_job_that_was_started_twice_looks_as_on_the_real_one() -> None:
    async def crash() -> None:
        async with asking() as (slurmrestd, rest):
            slurmrestd.model.start_job(7, "w1")
            slurmrestd.model.started_twice(7)
            as_slurm_shows_it(await rest.node("w1"), await rest.job(7))

    asyncio.run(crash())
