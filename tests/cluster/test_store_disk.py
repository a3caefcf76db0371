"""The store on disk: what was acknowledged is there after any crash, and what was not is not half there."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from penstock.cluster.errors import NotFound, Unreachable
from penstock.cluster.resources import Resource, Whole
from penstock.cluster.store import Store
from penstock.cluster.store.journal import Journal
from penstock.cluster.store.records import Change

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", Whole)
CHILD = """
import asyncio, sys
from pathlib import Path
from penstock.cluster.resources import Resource, Whole
from penstock.cluster.store import Store

MAPS = Resource("", "v1", "configmaps", "ConfigMap", Whole)

async def writer(store, number):
    for count in range(1_000_000):
        name = f"map-{number}-{count}"
        made = await store.create(MAPS, {"metadata": {"name": name, "namespace": "test"}, "data": {"step": "made"}})
        print("made", name, made.metadata.resource_version, flush=True)
        if count % 3 == 0:
            await store.delete(MAPS, name, namespace="test")
            print("gone", name, 0, flush=True)
        elif count % 3 == 1:
            changed = await store.patch(MAPS, name, {"data": {"step": "changed"}}, namespace="test")
            print("changed", name, changed.metadata.resource_version, flush=True)

async def main():
    store = Store(Path(sys.argv[1]))
    await asyncio.gather(*(writer(store, number) for number in range(8)))

asyncio.run(main())
"""


def acknowledged(path: Path, lines: int) -> dict[str, tuple[str, int]]:
    """Run a process that writes, kill it after some answers, and return the last answer about each object."""
    with subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True) as child:  # noqa: S603 - our own words
        assert child.stdout
        told = [child.stdout.readline() for _ in range(lines)]
        child.send_signal(signal.SIGKILL)
        told += child.stdout.readlines()
    whole = [line.split() for line in told if line.endswith("\n")]
    return {name: (step, int(version)) for step, name, version in whole}


@pytest.mark.parametrize("lines", [1, 40, 250])
def test_a_killed_process_has_lost_nothing_that_it_acknowledged(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "store.db"
    answers = acknowledged(path, lines)
    asyncio.run(check(path, answers))
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def check(path: Path, answers: dict[str, tuple[str, int]]) -> None:
    """Every answer still holds; an object may also be one step further, for which there was no answer yet."""
    async with Store(path) as store:
        for name, (step, version) in answers.items():
            try:
                found = await store.get(CONFIG_MAPS, name, "test")
            except NotFound:
                assert step in {"gone", "made"}, f"{name} was {step} and is lost"
            else:
                assert step != "gone", f"{name} was deleted and is back"
                assert int(found.metadata.resource_version) >= version
                assert found.data["step"] == step or step == "made"
        made = await store.create(CONFIG_MAPS, {"metadata": {"name": "after", "namespace": "test"}})
        assert int(made.metadata.resource_version) > max(version for _, version in answers.values())


def test_a_store_opened_again_is_the_same_store(tmp_path: Path) -> None:
    async def main() -> None:
        async with Store(tmp_path / "store.db") as store:
            owner = await store.create(CONFIG_MAPS, {"metadata": {"name": "owner", "namespace": "test"}})
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid}
            metadata = {"name": "child", "namespace": "test", "ownerReferences": [reference]}
            child = await store.apply(CONFIG_MAPS, {"metadata": metadata, "data": {"a": "1"}})
            await store.create(CONFIG_MAPS, {"metadata": {"name": "last", "namespace": "test"}})
            await store.delete(CONFIG_MAPS, "last", namespace="test")
        async with Store(tmp_path / "store.db") as store:
            found = await store.list(CONFIG_MAPS)
            assert (found.items, found.resource_version) == ([child, owner], "5")
            assert await store.apply(CONFIG_MAPS, {"metadata": metadata, "data": {"a": "1"}}) == child
            await store.delete(CONFIG_MAPS, "owner", namespace="test")
            assert (await store.list(CONFIG_MAPS)).items == []

    asyncio.run(main())


def test_a_watch_goes_on_after_a_restart_where_nothing_was_missed(tmp_path: Path) -> None:
    async def main() -> None:
        async with Store(tmp_path / "store.db") as store:
            made = await store.create(CONFIG_MAPS, {"metadata": {"name": "one", "namespace": "test"}})
        async with Store(tmp_path / "store.db") as store:
            await store.create(CONFIG_MAPS, {"metadata": {"name": "two", "namespace": "test"}})
            event = await anext(store.watch(CONFIG_MAPS, since=made.metadata.resource_version))
            assert event.object is not None
            assert event.object.metadata.name == "two"

    asyncio.run(main())


def test_a_file_belongs_to_one_process(tmp_path: Path) -> None:
    async def main() -> None:
        async with Store(tmp_path / "store.db"):
            with pytest.raises(Unreachable, match="is another process using it"):
                Store(tmp_path / "store.db")

    asyncio.run(main())


def test_a_file_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Journal(path).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(Unreachable, match="has format 99"):
        Journal(path)


def test_writers_at_once_share_their_trips_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trips: list[int] = []
    write = Journal.write

    def counted(journal: Journal, changes: Sequence[Change]) -> None:
        trips.append(len(changes))
        write(journal, changes)

    monkeypatch.setattr(Journal, "write", counted)

    async def main() -> None:
        async with Store(tmp_path / "store.db") as store:
            bodies = [{"metadata": {"name": f"map-{number}", "namespace": "test"}} for number in range(100)]
            await asyncio.gather(*(store.create(CONFIG_MAPS, body) for body in bodies))

    asyncio.run(main())
    assert sum(trips) == 100
    assert len(trips) < 10


def full(_: Journal, __: object) -> None:
    """What a disk without room says."""
    raise Unreachable("the disk is full")


def test_a_write_that_does_not_reach_the_disk_never_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with Store(tmp_path / "store.db") as store:
            kept = await store.create(CONFIG_MAPS, {"metadata": {"name": "kept", "namespace": "test"}})
            with monkeypatch.context() as patch:
                patch.setattr(Journal, "write", full)
                lost = [{"metadata": {"name": name, "namespace": "test"}} for name in ("one", "two")]
                made = await asyncio.gather(*(store.create(CONFIG_MAPS, body) for body in lost), return_exceptions=True)
            assert [type(answer) for answer in made] == [Unreachable, Unreachable]
            assert (await store.list(CONFIG_MAPS)).items == [kept]
            again = await store.create(CONFIG_MAPS, lost[0])
            assert (await store.list(CONFIG_MAPS)).items == [kept, again]

    asyncio.run(main())


def test_nobody_sees_a_write_before_the_disk_has_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with Store(tmp_path / "store.db") as store:
            writing = asyncio.ensure_future(
                store.create(CONFIG_MAPS, {"metadata": {"name": "one", "namespace": "test"}})
            )
            await asyncio.sleep(0)
            assert (await store.list(CONFIG_MAPS)).items == []
            made = await writing
            assert (await store.list(CONFIG_MAPS)).items == [made]

    asyncio.run(main())


def test_a_writer_that_gives_up_disturbs_neither_its_write_nor_the_others(tmp_path: Path) -> None:
    async def main() -> None:
        async with Store(tmp_path / "store.db") as store:
            bodies = [{"metadata": {"name": name, "namespace": "test"}} for name in ("hasty", "patient")]
            hasty, patient = (asyncio.ensure_future(store.create(CONFIG_MAPS, body)) for body in bodies)
            await asyncio.sleep(0)
            hasty.cancel()
            await patient
            names = [item.metadata.name for item in (await store.list(CONFIG_MAPS)).items]
            assert names == ["hasty", "patient"]

    asyncio.run(main())
