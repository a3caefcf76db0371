"""Reservations: what the played slurmrestd and the real ones of both releases answer alike, asked by our client."""

from __future__ import annotations

import time

import pytest

from penstock.slurm.rest.errors import SlurmNotFound, SlurmRefused
from penstock.slurm.rest.messages import ReservationReport

from .site import Asking, Site

NAME = "SlurmOperatorMaint-x"
FLAGS = ("MAINT", "IGNORE_JOBS")
changing = pytest.mark.parametrize("site", ["played R26_05", "forky"], indirect=True, scope="module")
reading = pytest.mark.parametrize("site", ["played R24_11", "trixie"], indirect=True, scope="module")


async def make(asking: Asking, *, start: int, minutes: int = 30, flags: tuple[str, ...] = FLAGS) -> None:
    await asking.rest.put_reservation(
        NAME, nodes=["w1", "w2"], start=start, minutes=minutes, flags=flags, users=["slurm"]
    )


def shown(one: ReservationReport) -> tuple[object, ...]:
    minutes = (one.end_time.number - one.start_time.number) // 60
    return one.name, one.node_list, one.start_time.number, minutes, sorted({*one.flags} - {"SPEC_NODES"})


def test_what_is_not_there_is_not_found(site: Site) -> None:
    async def attempt(asking: Asking) -> None:
        with pytest.raises(SlurmNotFound):
            await asking.rest.reservation(NAME)

    site.ask(attempt)


@reading
def test_24_11_shows_reservations_and_changes_none(site: Site) -> None:
    async def attempt(asking: Asking) -> None:
        with pytest.raises(SlurmRefused, match=r"25\.05 and newer can; use scontrol create"):
            await make(asking, start=int(time.time()) + 3600)
        with pytest.raises(SlurmRefused, match=r"25\.05 and newer can"):
            await asking.rest.delete_reservation(NAME)

    site.ask(attempt)


@changing
def test_a_reservation_is_made_changed_and_deleted(site: Site) -> None:
    start = int(time.time()) + 3600

    async def life(asking: Asking) -> list[object]:
        rest, seen = asking.rest, list[object]()
        await make(asking, start=start)
        try:
            seen.append(shown(await rest.reservation(NAME)))
            with pytest.raises(SlurmNotFound):
                await rest.reservation("another")
            await rest.put_reservation(NAME, nodes=["w1", "w3"])
            seen.append(shown(await rest.reservation(NAME))[1:4])
            await rest.put_reservation(NAME, nodes=["w1"], start=start + 60, minutes=5, flags=["DAILY"])
            seen.append(shown(await rest.reservation(NAME))[1:])
            await rest.put_reservation(NAME, nodes=["w1"], flags=["NO_DAILY"])
            seen.append(shown(await rest.reservation(NAME))[-1])
        finally:
            await rest.delete_reservation(NAME)
        with pytest.raises(SlurmNotFound):
            await rest.delete_reservation(NAME)
        return seen

    assert site.ask(life) == [
        (NAME, "w[1-2]", start, 30, ["IGNORE_JOBS", "MAINT"]),
        ("w[1,3]", start, 30),
        ("w1", start + 60, 5, ["DAILY", "IGNORE_JOBS", "MAINT"]),
        ["IGNORE_JOBS", "MAINT"],
    ]


@changing
def test_an_open_window_shows_on_its_nodes_and_ends_no_job(site: Site) -> None:
    """It cannot be moved any more; its nodes can be others."""

    async def opened(asking: Asking) -> tuple[object, ...]:
        rest, number = asking.rest, await asking.submit("w1")
        await make(asking, start=int(time.time()))

        async def is_open() -> bool:
            return (await rest.node("w1")).reservation == NAME

        async def is_closed() -> bool:
            return not (await rest.node("w1")).reservation

        try:
            await asking.until(is_open)
            states = {name: {*(await rest.node(name)).state} for name in ("w1", "w2", "w3")}
            with pytest.raises(SlurmRefused, match="already started"):
                await rest.put_reservation(NAME, nodes=["w1"], start=int(time.time()) + 3600)
            await rest.put_reservation(NAME, nodes=["w1", "w3"])
            nodes, running = (await rest.reservation(NAME)).node_list, (await rest.job(number)).condition.running
        finally:
            await rest.delete_reservation(NAME)
            await asking.until(is_closed)
            await asking.cancel("w1")
        return [name for name, words in states.items() if "MAINTENANCE" in words], nodes, running

    assert site.ask(opened) == (["w1", "w2"], "w[1,3]", True)


@changing
@pytest.mark.parametrize(
    ("ago", "flags", "taken"),
    [
        (0, (), True),
        (7200, (), False),
        (7200, ("DAILY",), False),
        (7200, ("DAILY", "FORCE_START"), True),
        (100_000, ("DAILY", "FORCE_START"), False),
    ],
)
def test_a_start_that_is_long_past_is_taken_of_windows_that_repeat_and_are_open(
    site: Site, ago: int, flags: tuple[str, ...], taken: bool
) -> None:
    async def attempt(asking: Asking) -> bool:
        try:
            await make(asking, start=int(time.time()) - ago, minutes=180, flags=(*FLAGS, *flags))
        except SlurmRefused:
            return False
        await asking.rest.delete_reservation(NAME)
        return True

    assert site.ask(attempt) is taken


@changing
@pytest.mark.parametrize("wrong", ["flag", "node"])
def test_a_flag_or_a_node_that_slurm_does_not_know_is_refused(site: Site, wrong: str) -> None:
    async def attempt(asking: Asking) -> None:
        start = int(time.time()) + 3600
        nodes, flags = (["nobody"], FLAGS) if wrong == "node" else (["w1"], ("NEVER",))
        with pytest.raises(SlurmRefused, match=r"Invalid node name|is no flag"):
            await asking.rest.put_reservation(NAME, nodes=nodes, start=start, minutes=1, flags=flags, users=["slurm"])
        with pytest.raises(SlurmNotFound):
            await asking.rest.reservation(NAME)

    site.ask(attempt)
