"""^C while a cluster starts: it is gone again, or goes on where it was asked to, and a line says which."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from .site import Site, eventually, site
from .traces import traces


@pytest.fixture
def place() -> Iterator[Site]:
    """A place without a cluster; nothing is left there."""
    with site("forky") as found:
        try:
            yield found
        finally:
            found.down()
        assert traces(found) == []


def interrupted(place: Site, *words: str, at: str) -> tuple[int, str]:
    """Type `penstock up`, and ^C when it says that it does this; how it ended, and what it said."""
    with place.started("up", *words) as up:
        assert up.stdout is not None
        said = ""
        while f"  {at}" not in said:
            more = up.stdout.readline()
            assert more, said
            said += more
        up.send_signal(signal.SIGINT)
        return up.wait(), said + up.stdout.read()


@pytest.mark.parametrize("moment", ["starting", "applying"])
def test_who_interrupts_a_start_is_rid_of_it(place: Site, moment: str) -> None:
    """Whether those who look after it have been told to begin yet, or not."""
    code, said = interrupted(place, at=moment)
    assert (code, "Traceback" in said, "penstock up: interrupted" in said) == (130, False, True), said
    if moment == "applying":
        assert "penstock up: interrupted; the cluster is taken down\n" in said
        assert f"cluster {place.name} is down; its data is kept in " in said
    assert [line for line in traces(place) if not line.startswith("file ")] == []


def test_a_start_in_the_background_goes_on(place: Site) -> None:
    code, said = interrupted(place, "--detach", at="applying")
    assert (code, "Traceback" in said) == (130, False), said
    which = f"--cluster {place.name}"
    assert f"the cluster goes on: see penstock status {which}, or end it: penstock down {which}\n" in said
    eventually(lambda: place.run("get", "namespaces").code, lambda code: code == 0)
