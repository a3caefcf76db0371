"""Our client against the real slurmrestd of both releases."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest

from penstock.slurm.rest.client import Nodes, SlurmRest
from penstock.slurm.rest.errors import SlurmNotFound, SlurmRefused, SlurmUnreachable
from penstock.slurm.rest.transport import Transport
from penstock.slurm.tokens import sign

from .mini_cluster import MiniCluster, mini_cluster
from .slurm_parser import SlurmParser

R = TypeVar("R")
PATIENCE = 20.0


@pytest.fixture(scope="module")
def mini(slurm: SlurmParser) -> Iterator[MiniCluster]:
    with mini_cluster(slurm.root, nodes=3) as cluster:
        yield cluster


def ask(mini: MiniCluster, question: Callable[[SlurmRest], Awaitable[R]], *, key: bytes | None = None) -> R:
    """Ask one thing over connections of its own, once all nodes are there."""

    async def asking() -> R:
        transport = Transport(f"unix://{mini.socket}")
        try:
            await registered(SlurmRest(transport, token=lambda: token(mini.jwt_key)), mini)
            return await question(SlurmRest(transport, token=lambda: token(key or mini.jwt_key)))
        finally:
            await transport.close()

    return asyncio.run(asking())


def token(key: bytes) -> str:
    return sign(key, username="slurm", issued_at=int(time.time()) - 5, lifetime_seconds=300, token_id="test")


async def registered(slurm: SlurmRest, mini: MiniCluster) -> None:
    """Slurm tells nobody when a node comes, so it is asked; the bound only ends what will never come."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                found = await slurm.nodes()
                if found and set(found.nodes) == set(mini.nodes):
                    return
            except SlurmUnreachable:
                pass
            await asyncio.sleep(0.05)


def test_the_newest_common_version_is_spoken(mini: MiniCluster, slurm: SlurmParser) -> None:
    expected = "v0.0.45" if slurm.version.startswith("26.05") else "v0.0.42"
    assert ask(mini, lambda rest: rest.version()) == expected


def test_a_node_is_idle_and_says_so(mini: MiniCluster) -> None:
    node = ask(mini, lambda rest: rest.node("w3"))
    assert (node.condition.known, node.condition.busy, node.condition.drained) == (True, False, False)
    assert node.partitions == ("compute",)


def test_nodes_that_have_not_changed_cost_nothing(mini: MiniCluster) -> None:
    """Slurm's clock counts seconds, so the question is put for the next one."""

    async def twice(rest: SlurmRest) -> Nodes | None:
        first = await rest.nodes()
        assert first is not None
        return await rest.nodes(since=first.updated + 1)

    assert ask(mini, twice) is None


def test_many_nodes_drain_in_one_request_and_come_back(mini: MiniCluster) -> None:
    async def there_and_back(rest: SlurmRest) -> tuple[dict[str, bool], dict[str, bool]]:
        await rest.update_nodes(["w1", "w2"], state=["DRAIN"], reason="slurm-operator: a test, with blanks")
        drained = await rest.nodes()
        await rest.update_nodes(["w2", "w1"], state=["RESUME"])
        resumed = await rest.nodes()
        assert drained is not None
        assert resumed is not None
        return (
            {name: node.condition.drained for name, node in drained.nodes.items()},
            {name: node.condition.drain for name, node in resumed.nodes.items()},
        )

    drained, resumed = ask(mini, there_and_back)
    assert drained == {"w1": True, "w2": True, "w3": False}
    assert resumed == {"w1": False, "w2": False, "w3": False}


def test_our_mark_stays_when_the_reason_changes_and_goes_when_told(mini: MiniCluster) -> None:
    """Scale-in marks the drains that are ours; the last words of a pod overwrite the reason, but not the mark."""

    async def life(rest: SlurmRest) -> list[tuple[bool, str, str]]:
        seen = []
        mark = "penstock: scale-in"
        for changes in (
            {"state": ["DRAIN"], "reason": mark, "extra": mark},
            {"state": ["DOWN"], "reason": "slurm-operator: the worker's pod ends"},
            {"state": ["RESUME"]},
            {"state": ["DRAIN"], "reason": mark, "extra": mark},
            {"state": ["UNDRAIN"], "extra": ""},
        ):
            await rest.update_nodes(["w1"], **changes)
            node = await rest.node("w1")
            seen.append((node.condition.drain, node.extra, node.reason))
        return seen

    seen = ask(mini, life)
    assert seen[0] == (True, "penstock: scale-in", "penstock: scale-in")
    assert seen[1] == (True, "penstock: scale-in", "slurm-operator: the worker's pod ends")
    assert [(drain, extra) for drain, extra, _ in seen[3:]] == [(True, "penstock: scale-in"), (False, "")]


def test_one_unknown_name_changes_no_node_at_all(mini: MiniCluster) -> None:
    async def attempt(rest: SlurmRest) -> bool:
        with pytest.raises(SlurmNotFound, match="Invalid node name"):
            await rest.update_nodes(["w3", "nobody"], state=["DRAIN"], reason="slurm-operator: a test")
        return (await rest.node("w3")).condition.drain

    assert ask(mini, attempt) is False


def test_any_number_of_orders_leaves_slurmrestd_with_room_for_more(mini: MiniCluster) -> None:
    """It takes 124 connections at a time, and answers nobody who comes beyond that."""

    async def orders(rest: SlurmRest) -> str:
        for number in range(150):
            await rest.update_nodes(["w2"], comment=str(number))
        return (await rest.node("w2")).comment

    assert ask(mini, orders) == "149"


def test_what_slurm_does_not_know_is_not_found(mini: MiniCluster) -> None:
    """26.05 sends half a second answer behind every error; the first one counts, and the next question works."""

    async def attempts(rest: SlurmRest) -> str:
        with pytest.raises(SlurmNotFound):
            await rest.node("nobody")
        with pytest.raises(SlurmNotFound):
            await rest.delete_node("nobody")
        return (await rest.node("w3")).name

    assert ask(mini, attempts) == "w3"


def test_a_wrong_key_is_refused_with_the_way_to_mend_it(mini: MiniCluster) -> None:
    async def attempt(rest: SlurmRest) -> None:
        with pytest.raises(SlurmRefused, match="same JWT key"):
            await rest.nodes()

    ask(mini, attempt, key=b"another key of thirty-two bytes!")


def test_partitions_and_pings_are_what_slurmctld_runs(mini: MiniCluster) -> None:
    async def both(rest: SlurmRest) -> tuple[int, bool]:
        partitions = await rest.partitions()
        return partitions["compute"].nodes.total, (await rest.ping())[0].responding

    assert ask(mini, both) == (3, True)


def test_nobody_at_home_is_unreachable(tmp_path_factory: pytest.TempPathFactory) -> None:
    async def attempt() -> None:
        nowhere = tmp_path_factory.mktemp("nowhere") / "socket"
        with pytest.raises(SlurmUnreachable, match="No such file"):
            await SlurmRest(Transport(f"unix://{nowhere}"), token=lambda: "x").nodes()

    asyncio.run(attempt())
