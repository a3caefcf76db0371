"""The copy follows the cluster: nothing missed, nothing twice, and it knows when it may be behind."""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise

import pytest

from penstock.cluster.backoff import Backoff
from penstock.cluster.errors import ClusterError, Expired, Forbidden, NotFound, Overloaded, Refused, Unreachable
from penstock.cluster.index import owners
from penstock.cluster.informer import Informer
from penstock.cluster.resources import Whole

from .script import THINGS, Lists, Script, Watches, added, bookmark, deleted, lists, modified, thing, watches
from .virtual_time import beside, run


class Observed:
    """An informer over a script, and what it told."""

    def __init__(self, *scenes: Lists | Watches) -> None:
        self.script = Script(*scenes)
        self.informer = Informer(
            self.script.cluster,
            THINGS,
            indexes={"owner": owners, "colour": _colours},
            backoff=Backoff(first=1.0, longest=8.0, chance=lambda: 1.0),
        )
        self.told: list[tuple[str | None, str | None]] = []
        self.informer.subscribe(lambda old, new: self.told.append((_shown(old), _shown(new))))

    @property
    def names(self) -> list[str | None]:
        """What the copy holds."""
        return [_shown(item) for item in self.informer.all()]

    def coloured(self, colour: str) -> list[str | None]:
        """What the copy holds of a colour."""
        return [_shown(item) for item in self.informer.by("colour", colour)]

    @property
    def waits(self) -> list[float]:
        """Seconds between the scenes."""
        return [after - before for before, after in pairwise(self.script.times)]

    def play(self) -> Observed:
        """Run until the script is over, and a little longer."""
        run(beside(self.informer.run(), self._end()))
        return self

    async def _end(self) -> None:
        await self.script.over.wait()
        await asyncio.sleep(1)


def _colours(item: Whole) -> list[str]:
    return item.metadata.labels["colours"].split()


def _shown(item: Whole | None) -> str | None:
    return None if item is None else f"{item.metadata.name}@{item.metadata.resource_version}"


def test_a_listing_in_pages_becomes_one_copy() -> None:
    pages = [lists(thing("a"), thing("b"), version=9, more="x"), lists(thing("c"), version=9, page="x")]
    observed = Observed(*pages, watches(9)).play()
    assert observed.names == ["a@1", "b@1", "c@1"]
    assert observed.told == [(None, "a@1"), (None, "b@1"), (None, "c@1")]
    assert observed.informer.get("b", "n") == thing("b")
    assert observed.informer.get("b", "elsewhere") is None


def test_synced_is_said_with_the_last_page_and_not_before() -> None:
    pages = [lists(thing("a"), version=9, more="x"), Lists(Unreachable("away"), "x")]
    observed = Observed(*pages).play()
    assert not observed.informer.synced.is_set()
    assert observed.names == []
    observed = Observed(lists(thing("a"), version=9)).play()
    assert observed.informer.synced.is_set()


def test_events_change_the_copy_and_are_told_with_what_was_before() -> None:
    stream = watches(9, added(thing("b", 10)), modified(thing("a", 11)), deleted(thing("b", 12)), 1.0)
    observed = Observed(lists(thing("a"), version=9), stream).play()
    assert observed.names == ["a@11"]
    assert observed.told == [(None, "a@1"), (None, "b@10"), ("a@1", "a@11"), ("b@10", None)]


def test_a_deletion_of_something_unknown_is_nothing() -> None:
    observed = Observed(lists(version=9), watches(9, deleted(thing("a", 10)), 1.0)).play()
    assert observed.told == []


def test_a_watch_that_ends_is_resumed_behind_the_last_event_or_bookmark() -> None:
    first, second = watches(9, added(thing("a", 10))), watches(10, added(thing("b", 11)), bookmark(50))
    observed = Observed(lists(version=9), first, second, watches(50)).play()
    assert observed.names == ["a@10", "b@11"]


@pytest.mark.parametrize("error", [Unreachable("cut"), Overloaded("busy", retry_after=1)])
def test_a_link_that_breaks_is_resumed_without_a_new_listing(error: ClusterError) -> None:
    broken = watches(9, added(thing("a", 10)), error)
    observed = Observed(lists(version=9), broken, watches(10, added(thing("b", 11)))).play()
    assert observed.names == ["a@10", "b@11"]


@pytest.mark.parametrize("error", [Expired("410"), Refused("no such version"), NotFound("no such kind")])
def test_what_vanished_in_a_gap_is_told_as_deleted(error: ClusterError) -> None:
    """When history is lost the copy is listed anew, and the difference is told; what did not change is not."""
    again = lists(thing("b", 20), thing("c"), thing("d", 21), version=30)
    observed = Observed(lists(thing("a"), thing("b"), thing("c"), version=9), watches(9, error), again).play()
    assert observed.told[3:] == [("a@1", None), ("b@1", "b@20"), (None, "d@21")]
    assert sorted(filter(None, observed.names)) == ["b@20", "c@1", "d@21"]


def test_a_listing_that_fails_half_way_changes_nothing() -> None:
    half = [lists(thing("b", 20), version=30, more="x"), Lists(Unreachable("away"), "x")]
    observed = Observed(lists(thing("a"), version=9), watches(9, Expired("410")), *half).play()
    assert observed.names == ["a@1"]


def test_a_token_that_is_too_old_begins_the_listing_anew() -> None:
    pages = [lists(thing("a"), version=9, more="x"), Lists(Expired("410"), "x"), lists(thing("b"), version=30)]
    assert Observed(*pages).play().names == ["b@1"]


def test_one_made_anew_in_a_gap_is_told_as_the_end_of_the_old_one() -> None:
    again = lists(thing("a", 20, uid="another"), version=30)
    observed = Observed(lists(thing("a"), version=9), watches(9, Expired("410")), again).play()
    assert observed.told == [(None, "a@1"), ("a@1", None), (None, "a@20")]


def test_objects_are_found_by_what_indexes_say_of_them_now() -> None:
    stream = watches(
        9,
        modified(thing("a", 10, colours="blue red")),
        added(thing("b", 11, colours="blue")),
        modified(thing("c", 12, colours="red")),
        deleted(thing("d", 13, colours="green")),
        1.0,
    )
    before = [thing("a", 1, colours="red"), thing("c", 1, colours="green"), thing("d", 1, colours="green")]
    observed = Observed(lists(*before, version=9), stream).play()
    assert observed.coloured("red") == ["a@10", "c@12"]
    assert observed.coloured("blue") == ["a@10", "b@11"]
    assert observed.coloured("green") == []


def test_children_are_found_by_their_owner() -> None:
    observed = Observed(lists(thing("a", owner="x"), thing("b"), thing("c", owner="x"), version=9)).play()
    assert [_shown(item) for item in observed.informer.by("owner", "x")] == ["a@1", "c@1"]


def test_a_cluster_that_is_away_is_asked_less_and_less_often() -> None:
    away = [Lists(Unreachable("away"))] * 6
    observed = Observed(*away, lists(version=9), watches(9)).play()
    assert observed.waits == pytest.approx([1, 2, 4, 8, 8, 8, 0])


def test_a_right_that_is_missing_is_waited_for() -> None:
    observed = Observed(Lists(Forbidden("no")), Lists(Forbidden("no")), lists(thing("a"), version=9)).play()
    assert observed.names == ["a@1"]


def test_a_server_that_closes_every_watch_at_once_is_not_stormed() -> None:
    observed = Observed(lists(version=9), *[watches(9)] * 5).play()
    assert observed.waits == pytest.approx([0, 1, 2, 4, 8])


def test_history_that_is_always_gone_does_not_make_us_list_without_pause() -> None:
    round_of: list[Lists | Watches] = [watches(9, Expired("410")), lists(version=9)]
    observed = Observed(lists(version=9), *round_of * 4).play()
    assert observed.waits[1::2] == pytest.approx([1, 2, 4, 8])


def test_a_watch_that_stood_and_is_cut_again_and_again_is_never_away_for_long() -> None:
    """A proxy that ends streams after some seconds must not make us blind for half a minute each time."""
    cuts = [watches(9, bookmark(9), 0.5, Unreachable("cut")) for _ in range(7)]
    observed = Observed(lists(version=9), *cuts).play()
    assert observed.waits[1:] == pytest.approx([1.5, 2.5, 4.5, 4.5, 4.5, 4.5])


def test_a_long_quiet_watch_is_resumed_at_once() -> None:
    """Without bookmarks nothing tells of progress but time."""
    observed = Observed(lists(version=9), *[watches(9, 300.0)] * 3).play()
    assert observed.waits == pytest.approx([0, 300, 300])


def test_staleness_counts_from_the_last_sign_of_life() -> None:
    observed = Observed(lists(version=9), watches(9, 50.0, bookmark(10), 20.0, Unreachable("cut"), 1.0))
    seen: dict[str, float] = {}

    async def look() -> None:
        seen["before"] = observed.informer.staleness
        await observed.informer.synced.wait()
        for moment in (0.0, 49.0, 51.0, 69.0, 71.0):
            await asyncio.sleep(moment - seen.get("at", 0.0))
            seen["at"] = moment
            seen[str(moment)] = observed.informer.staleness

    run(beside(observed.informer.run(), look()))
    expected = {"0.0": 0, "49.0": 49, "51.0": 1, "69.0": 19, "71.0": 21}
    assert seen == pytest.approx(expected | {"before": float("inf"), "at": 71})


def test_a_listener_that_fails_does_not_stop_the_copy(caplog: pytest.LogCaptureFixture) -> None:
    observed = Observed(lists(version=9), watches(9, added(thing("a", 10)), added(thing("b", 11)), 1.0))

    def fail(old: object, new: object) -> None:
        raise RuntimeError(f"{old} {new}")

    observed.informer.subscribe(fail)
    assert observed.play().names == ["a@10", "b@11"]
    assert "a listener failed" in caplog.text


def test_an_index_that_fails_stops_the_copy_and_closes_the_stream() -> None:
    def colour(item: Whole) -> list[str]:
        return [{"red": "warm"}[item.metadata.labels["colours"]]]

    async def main() -> None:
        script = Script(lists(version=9), watches(9, added(thing("a", 10, colours="blue")), 1e6), watches(9))
        with pytest.raises(KeyError) as caught:
            await Informer(script.cluster, THINGS, indexes={"colour": colour}).run()
        assert (str(caught.value), script.closed) == ("'blue'", 1)

    run(main())


def test_cancelling_closes_the_stream() -> None:
    observed = Observed(lists(version=9), watches(9, added(thing("a", 10)), 1e6)).play()
    assert observed.script.closed == 1


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What stands in a log that is not for debugging."""
    return [f"{record.levelname} {record.message}" for record in caplog.records if record.levelno > logging.DEBUG]


def test_a_long_outage_is_told_when_it_begins_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    away = [watches(9, Unreachable(f"cut {number}")) for number in range(50)]
    back = watches(9, bookmark(10), 9.0, bookmark(11), 100.0)
    Observed(lists(version=9), *away, back, watches(11)).play()
    assert said(caplog) == [
        "WARNING things: cut 0; trying again",
        "INFO things: in order again; the trouble lasted 375 s",
    ]
    assert caplog.text.count("trying again") == 50, "who debugs sees every failure"


def test_an_outage_after_an_outage_is_told_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    Observed(lists(version=9), *[watches(9, Unreachable("cut")), watches(9, 10.0)] * 2, watches(9)).play()
    assert [line.split()[0] for line in said(caplog)] == ["WARNING", "INFO"] * 2


def test_a_link_that_comes_and_goes_is_one_outage(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    flapping = [watches(9 + number, bookmark(10 + number), 3.0, Unreachable("cut")) for number in range(50)]
    Observed(lists(version=9), *flapping, watches(59)).play()
    assert len(said(caplog)) == 1


def test_a_copy_that_can_be_listed_but_not_watched_is_not_in_order(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    round_of: list[Lists | Watches] = [watches(9, Forbidden("may not watch")), lists(version=9)]
    Observed(lists(version=9), *round_of * 20, watches(9, Forbidden("may not watch"))).play()
    assert said(caplog) == ["WARNING things: may not watch; trying again"]


def test_another_kind_of_trouble_is_worth_another_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    troubles = [Lists(Unreachable("away")), Lists(Unreachable("away")), Lists(Forbidden("no")), Lists(Unreachable("x"))]
    Observed(*troubles, lists(version=9)).play()
    assert said(caplog) == ["WARNING things: away; trying again", "WARNING things: no; trying again"]


def test_history_that_is_gone_is_nothing_to_warn_of(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    Observed(lists(version=9), watches(9, Expired("410")), lists(version=9), watches(9, 20.0), watches(9)).play()
    assert said(caplog) == ["INFO things: 410; trying again"]


def test_a_cluster_that_asks_for_time_is_given_it_within_bounds() -> None:
    busy = [Lists(Overloaded("busy", retry_after=seconds)) for seconds in (0.1, 5, 3600)]
    observed = Observed(*busy, lists(version=9), watches(9, Overloaded("busy", retry_after=6)), watches(9)).play()
    assert observed.waits == pytest.approx([1, 5, 8, 0, 8])
