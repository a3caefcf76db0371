"""Both ends of a WebSocket understand each other, and neither falls over what a stranger sends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cluster.kube import channels
from penstock.cluster.streams import Size


@given(st.integers(0, 255))
def test_an_exit_code_comes_over(code: int) -> None:
    assert channels.exit_code(channels.outcome(code)) == code


@given(st.text(min_size=1))
def test_trouble_comes_over_in_its_words(words: str) -> None:
    words = words.encode(errors="replace").decode()
    assert channels.exit_code(channels.trouble(words)) == words


@given(st.binary())
def test_whatever_comes_as_an_outcome_is_a_code_or_words(data: bytes) -> None:
    assert isinstance(channels.exit_code(data), (int, str))


@given(st.integers(1, 65535), st.integers(1, 65535))
def test_a_size_comes_over(columns: int, rows: int) -> None:
    message = channels.resized(Size(columns, rows))
    assert message[0] == channels.RESIZE
    assert channels.size_of(message[1:]) == Size(columns, rows)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"Width":0,"Height":5}', b'{"Width":70000,"Height":5}', b"\xff"])
def test_what_is_no_size_is_none(data: bytes) -> None:
    assert channels.size_of(data) is None


def test_a_port_is_told_as_kubelet_tells_it() -> None:
    assert channels.message(channels.DATA, channels.port_number(8080)) == b"\x00\x90\x1f"


def test_what_kubelet_says_of_an_exit_code() -> None:
    """The form of Kubernetes 1.36 (remotecommand.NonZeroExitCodeReason)."""
    cause = b'{"reason":"ExitCode","message":"42"}'
    told = b'{"status":"Failure","message":"x","reason":"NonZeroExitCode","details":{"causes":[%s]}}' % cause
    assert channels.exit_code(told) == 42
