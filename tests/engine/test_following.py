"""Following a container's log: every line once, in order, over the end of a full file, until the container's end."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from penstock.engine import logs
from tests.engine.containers import lab

NOW = "2026-11-16T05:44:57.163630215+00:00"


def test_a_follower_loses_nothing_when_the_file_is_full(tmp_path: Path) -> None:
    script = "seq -f 'line %g' 400; printf unfinished"

    async def story() -> list[bytes]:
        async with asyncio.timeout(60), lab(tmp_path) as it:
            made = await it.create("a", "sh", "-c", script, log_limit=15_000)
            lines: list[bytes] = []

            async def listen() -> None:
                async with aclosing(logs.follow(it.log("a"), until=made.ended())) as following:
                    lines.extend([line.text async for line in following])

            listening = asyncio.create_task(listen())
            await asyncio.sleep(0)
            await it.runtime.start(made)
            await listening
            assert len(logs.read(it.log("a"))) < 400, "the file was never full: the test shows nothing"
            return lines

    assert asyncio.run(story()) == [f"line {number}".encode() for number in range(1, 401)] + [b"unfinished"]


def test_long_lines_come_in_one_piece(tmp_path: Path) -> None:
    async def story() -> None:
        async with asyncio.timeout(60), lab(tmp_path) as it:
            running = await it.run("a", "sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x; echo; echo next")
            await running.ended()
            assert [len(line.text) for line in logs.read(it.log("a"))] == [100_000, 4]
            assert [line.text for line in logs.read(it.log("a"), tail=1)] == [b"next"]

    asyncio.run(story())


def test_a_follower_may_come_before_the_file_and_hears_each_line_as_it_is_said(tmp_path: Path) -> None:
    async def story() -> None:
        path, over = tmp_path / "log", asyncio.Event()
        async with asyncio.timeout(20), aclosing(logs.follow(path, until=over.wait(), tail=5)) as following:
            first = asyncio.create_task(anext(following))
            await asyncio.sleep(0)
            path.write_text(f"{NOW} stdout F one\n")
            assert (await first).text == b"one"
            second = asyncio.create_task(anext(following))
            with path.open("a") as file:
                file.write(f"{NOW} stdout P tw")
                file.flush()
                await asyncio.sleep(0)
                file.write(f"o\n{NOW} stdout F !\n")
            assert (await second).text == b"two!"
            with path.open("a") as file:
                file.write(f"{NOW} stdout F last\n")
            over.set()
            assert [line.text async for line in following] == [b"last"]

    asyncio.run(story())


def test_a_part_before_the_follower_came_belongs_to_the_line(tmp_path: Path) -> None:
    async def story() -> None:
        path, over = tmp_path / "log", asyncio.Event()
        path.write_text(f"{NOW} stdout F older\n{NOW} stdout F old\n{NOW} stdout P begun\n")
        async with asyncio.timeout(20), aclosing(logs.follow(path, until=over.wait(), tail=1)) as following:
            assert (await anext(following)).text == b"old"
            with path.open("a") as file:
                file.write(f"{NOW} stdout F  and ended\n")
            assert (await anext(following)).text == b"begun and ended"

    asyncio.run(story())


def test_a_directory_that_is_gone_is_said(tmp_path: Path) -> None:
    async def story() -> None:
        over = asyncio.Event()
        async with aclosing(logs.follow(tmp_path / "none/log", until=over.wait())) as following:
            with pytest.raises(OSError, match=r"watch .*none/log: No such file"):
                await anext(following)

    asyncio.run(story())
