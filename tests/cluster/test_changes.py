"""The bytes of a watch fall in any blocks; the events stay the same."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cluster.errors import Unreachable
from penstock.cluster.kube import changes
from penstock.cluster.kube.changes import Changes
from penstock.cluster.port import Event
from penstock.cluster.resources import Whole


def line(kind: str, name: str, version: int, **fields: Any) -> bytes:
    """A line of a watch."""
    body = {"metadata": {"name": name, "resourceVersion": str(version)}} | fields
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


names = st.text(min_size=1, max_size=20)
objects = st.builds(line, st.sampled_from(["ADDED", "MODIFIED", "DELETED"]), names, st.integers(1, 99))
nulls = st.builds(lambda name: line("ADDED", name, 5, spec=None, data=None), names)
bookmarks = st.integers(1, 99).map(
    lambda version: (
        json.dumps(
            {
                "type": "BOOKMARK",
                "object": {"metadata": {"resourceVersion": str(version)}, "spec": {"containers": None}},
            }
        ).encode()
        + b"\n"
    )
)


@given(st.lists(objects | nulls | bookmarks, max_size=12), st.lists(st.integers(0, 2000), max_size=20))
def test_events_do_not_depend_on_where_blocks_end(lines: list[bytes], cuts: list[int]) -> None:
    text = b"".join(lines)
    places = sorted({0, len(text), *(place for place in cuts if place < len(text))})
    reader = Changes(Whole, "watch things")
    read: list[Event[Whole]] = []
    for start, end in pairwise(places):
        read.extend(reader.feed(text[start:end]))
    reader.end()
    assert [event.type.value for event in read] == [json.loads(line)["type"] for line in lines]
    assert [event.resource_version for event in read] == [
        json.loads(line)["object"]["metadata"]["resourceVersion"] for line in lines
    ]
    assert [event.object and event.object.metadata.name for event in read] == [
        json.loads(line)["object"]["metadata"].get("name") for line in lines
    ]


def test_a_line_without_end_does_not_take_the_process_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_LONGEST_LINE", 1000)
    reader = Changes(Whole, "watch things")
    list(reader.feed(b"x" * 900))
    with pytest.raises(Unreachable, match="more than 1000 bytes"):
        list(reader.feed(b"x" * 200))
