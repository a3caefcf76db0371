"""What the played slurmrestd and the real ones of both releases answer alike, asked by our client."""

from __future__ import annotations

import itertools
import time
from contextlib import suppress
from typing import Any

import pytest

from penstock.slurm.rest.errors import SlurmConflict, SlurmNotFound, SlurmRefused

from .site import PATIENCE, Asking, Site

Order = dict[str, Any]
NUMBERS = itertools.count()
DRAIN: Order = {"state": ["DRAIN"], "reason": "slurm-operator: a test, with blanks"}
DOWN: Order = {"state": ["DOWN"], "reason": "dead"}
RESUME: Order = {"state": ["RESUME"]}
UNDRAIN: Order = {"state": ["UNDRAIN"]}


def test_the_newest_common_version_is_spoken(site: Site) -> None:
    async def version(asking: Asking) -> str:
        return await asking.rest.version()

    assert site.ask(version) == site.version


def test_nodes_at_rest_cost_nothing_when_asked_for_with_the_last_answers_time(site: Site) -> None:
    """That time is the answer's own, not that of the last change, which is a second older at the latest."""

    async def settled(asking: Asking) -> bool:
        first = await asking.rest.nodes()
        assert first is not None
        assert set(first.nodes) == set(site.nodes)
        return await asking.status(f"nodes/?update_time={first.updated}") == 304

    # Real nodes are still talking with slurmctld about the orders of the tests before.
    site.ask(lambda asking: asking.until(lambda: settled(asking)))


def test_news_of_nodes_alone_are_too_much_for_24_11(site: Site) -> None:
    """It asks for the partitions since then too, gets none because none changed, and takes that for a failure."""

    async def told(asking: Asking) -> bool:
        first = await asking.rest.nodes()
        assert first is not None
        await asking.rest.update_nodes(["w1"], comment=str(next(NUMBERS)))
        expected = 200 if site.version == "v0.0.45" else 500
        return await asking.status(f"nodes/?update_time={first.updated}") == expected

    site.ask(lambda asking: asking.until(lambda: told(asking)))


def test_a_node_says_what_it_is(site: Site) -> None:
    async def node(asking: Asking) -> tuple[object, ...]:
        node = await asking.rest.node("w3")
        return node.name, node.partitions, node.features, node.active_features, node.condition.known

    assert site.ask(node) == ("w3", ("compute",), ("compute",), ("compute",), True)


@pytest.mark.parametrize(
    ("orders", "state"),
    [
        ([UNDRAIN], {"IDLE"}),
        ([DRAIN], {"IDLE", "DRAIN"}),
        ([DRAIN, DRAIN | {"reason": "other"}], {"IDLE", "DRAIN"}),
        ([DRAIN, UNDRAIN], {"IDLE"}),
        ([DRAIN, RESUME], {"IDLE"}),
        ([DOWN], {"DOWN"}),
        ([DOWN, RESUME], {"IDLE"}),
        ([DOWN, DRAIN], {"DOWN", "DRAIN"}),
        ([{"state": ["FAIL"], "reason": "f"}], {"IDLE", "FAIL"}),
    ],
    ids=lambda value: " ".join(order["state"][0] for order in value) if isinstance(value, list) else "",
)
def test_orders_move_a_node(site: Site, orders: list[Order], state: set[str]) -> None:
    async def moved(asking: Asking) -> set[str]:
        try:
            for order in orders:
                await asking.rest.update_nodes(["w1"], **order)
            return await asking.state("w1")
        finally:
            await at_rest(asking, "w1")

    assert site.ask(moved) == state


def test_a_node_at_rest_cannot_be_resumed(site: Site) -> None:
    """Both releases say no, each with a number of its own."""

    async def attempt(asking: Asking) -> set[str]:
        with pytest.raises(SlurmRefused, match="Invalid node state"):
            await asking.rest.update_nodes(["w1"], **RESUME)
        return await asking.state("w1")

    assert site.ask(attempt) == {"IDLE"}


def test_a_reason_stands_as_long_as_the_drain(site: Site) -> None:
    """24.11 keeps it even longer; 26.05 forgets it."""

    async def reasons(asking: Asking) -> list[str]:
        found = []
        for order in (DRAIN, {"reason": "another"}, RESUME):
            await asking.rest.update_nodes(["w2"], **order)
            found.append((await asking.rest.node("w2")).reason)
        return found

    kept = "" if site.version == "v0.0.45" else "another"
    assert site.ask(reasons) == [DRAIN["reason"], "another", kept]


def test_a_reason_has_its_author_and_its_time(site: Site) -> None:
    async def drained(asking: Asking) -> tuple[str, bool]:
        await asking.rest.update_nodes(["w2"], **DRAIN)
        try:
            node = await asking.rest.node("w2")
            return node.reason_set_by_user, abs(time.time() - node.reason_changed_at.number) < PATIENCE
        finally:
            await at_rest(asking, "w2")

    assert site.ask(drained) == ("slurm", True)


def test_an_undrained_node_that_is_given_a_reason_shows_none_of_the_drain(site: Site) -> None:
    """24.11 would keep that of the drain, and shows the new one."""

    async def undrained(asking: Asking) -> tuple[bool, str]:
        await asking.rest.update_nodes(["w2"], **DRAIN)
        await asking.rest.update_nodes(["w2"], **UNDRAIN, reason="penstock: over")
        node = await asking.rest.node("w2")
        return node.condition.drain, node.reason

    assert site.ask(undrained) == (False, "" if site.version == "v0.0.45" else "penstock: over")


def test_comment_mark_and_features_are_kept(site: Site) -> None:
    async def changed(asking: Asking) -> tuple[object, ...]:
        await asking.rest.update_nodes(["w2"], comment="hello", extra="ours", features=["compute", "a"])
        node = await asking.rest.node("w2")
        with pytest.raises(SlurmRefused, match="Active features"):
            await asking.rest.update_nodes(["w2"], features=["compute"])
        await asking.rest.update_nodes(["w2"], comment="", extra="", features=["compute"], features_act=["compute"])
        return node.comment, node.extra, node.features, node.active_features

    assert site.ask(changed) == ("hello", "ours", ("compute", "a"), ("compute", "a"))


def test_an_empty_list_of_features_changes_nothing(site: Site) -> None:
    async def changed(asking: Asking) -> tuple[object, ...]:
        await asking.rest.update_nodes(["w2"], features=[], features_act=[])
        node = await asking.rest.node("w2")
        return node.features, node.active_features

    assert site.ask(changed) == (("compute",), ("compute",))


def test_a_topology_is_told_to_who_knows_it(site: Site) -> None:
    """24.11 takes whatever it is told, and does nothing."""
    speaks = site.version != "v0.0.42"

    async def told(asking: Asking) -> list[str]:
        found = []
        for words in ("default:s1", "nowhere:s1", ""):
            try:
                await asking.rest.update_nodes(["w1", "w2"], topology_str=words)
            except SlurmRefused as refusal:
                found.append(str(refusal).rpartition(": ")[2])
            found.append((await asking.rest.node("w2")).topology)
        return found

    refused = "Requested topology configuration is not available"
    assert site.ask(told) == (["default:s1", refused, "default:s1", ""] if speaks else ["", "", ""])


def test_one_unknown_name_changes_no_node_at_all(site: Site) -> None:
    async def attempt(asking: Asking) -> set[str]:
        with pytest.raises(SlurmNotFound, match="Invalid node name"):
            await asking.rest.update_nodes(["w3", "nobody"], **DRAIN)
        return await asking.state("w3")

    assert site.ask(attempt) == {"IDLE"}


def test_what_slurm_does_not_know_is_not_found(site: Site) -> None:
    """And behind the error, with all that 26.05 sends after it, the next question works."""

    async def attempts(asking: Asking) -> str:
        with pytest.raises(SlurmNotFound):
            await asking.rest.node("nobody")
        with pytest.raises(SlurmNotFound):
            await asking.rest.delete_node("nobody")
        return (await asking.rest.node("w3")).name

    assert site.ask(attempts) == "w3"


def test_a_wrong_key_is_refused_and_yet_slurmrestd_is_there(site: Site) -> None:
    async def attempt(asking: Asking) -> bool:
        with pytest.raises(SlurmRefused, match="same JWT key"):
            await asking.rest.nodes()
        return (await asking.rest.ping())[0].responding

    assert site.ask(attempt, key=b"another key of thirty-two bytes!") is False


def test_partitions_and_pings_are_what_slurmctld_runs(site: Site) -> None:
    async def both(asking: Asking) -> tuple[str, int, bool]:
        nodes = (await asking.rest.partitions())["compute"].nodes
        return nodes.configured, nodes.total, (await asking.rest.ping())[0].responding

    assert site.ask(both) == ("w[1-3]", 3, True)


def test_a_reconfigure_is_accepted(site: Site) -> None:
    async def reconfigured(asking: Asking) -> None:
        await asking.rest.reconfigure()

    site.ask(reconfigured)


def test_a_node_with_a_job_stays_and_drains_for_it(site: Site) -> None:
    async def busy(asking: Asking) -> set[str]:
        await asking.submit("w3")
        try:
            with pytest.raises(SlurmConflict, match="busy"):
                await asking.rest.delete_node("w3")
            await asking.rest.update_nodes(["w3"], **DRAIN)
            return await asking.state("w3")
        finally:
            await at_rest(asking, "w3")

    assert site.ask(busy) == {"ALLOCATED", "DRAIN"}


def test_a_running_job_is_listed(site: Site) -> None:
    async def listed(asking: Asking) -> bool:
        number = await asking.submit("w2")
        try:
            return any(job.number == number for job in await asking.rest.job_states())
        finally:
            await at_rest(asking, "w2")

    assert site.ask(listed)


def test_a_job_on_hold_says_so_and_runs_when_it_is_released(site: Site) -> None:
    async def released(asking: Asking) -> tuple[object, ...]:
        number = await asking.submit("w2", hold=True)
        held = await asking.rest.job(number)
        await asking.rest.release_job(number)
        try:
            await asking.runs(number)
            now = await asking.rest.job(number)
        finally:
            await at_rest(asking, "w2")
        words = held.state_reason, held.state_description, held.hold, held.condition.pending
        return *words, now.hold, now.last_sched_evaluation.number >= held.last_sched_evaluation.number

    assert site.ask(released) == ("JobHeldUser", "", True, True, False, True)


def test_a_job_that_slurm_does_not_know_is_not_found(site: Site) -> None:
    async def attempts(asking: Asking) -> None:
        with pytest.raises(SlurmNotFound, match="Invalid job id"):
            await asking.rest.job(4321)
        with pytest.raises(SlurmNotFound, match="Invalid job id"):
            await asking.rest.release_job(4321)

    site.ask(attempts)


def test_no_change_is_missed_between_two_questions(site: Site) -> None:
    """On 24.11 too, which cannot always tell what changed: then the client has everything told."""

    async def change(asking: Asking) -> tuple[bool, bool]:
        first = await asking.rest.nodes()
        assert first is not None
        await asking.rest.update_nodes(["w2"], state=["DRAIN"], reason="a test")
        try:
            second = await asking.rest.nodes(since=first.updated)
            return first.nodes["w2"].condition.drain, second is not None and second.nodes["w2"].condition.drain
        finally:
            await at_rest(asking, "w2")

    assert site.ask(change) == (False, True)


async def at_rest(asking: Asking, name: str) -> None:
    """Make a node idle again, whatever was done to it; jobs on it end."""
    if "ALLOCATED" in await asking.state(name):
        await asking.rest.update_nodes([name], **DOWN)
    for order in (UNDRAIN, RESUME):
        with suppress(SlurmRefused):  # it was not that way
            await asking.rest.update_nodes([name], **order)
