"""Connections end with the session that made them, even if the other side has stopped talking."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from penstock.cluster.kube import KubeCluster, find

from .authority import Authority
from .kubeconfigs import b64, kubeconfig
from .server import PODS


@dataclass(frozen=True, slots=True)
class Silence:
    """A server that takes a question and says nothing ever after, not even farewell."""

    url: str
    asked: threading.Event = field(default_factory=threading.Event)


@contextmanager
def keeping_silent(tls: ssl.SSLContext) -> Iterator[Silence]:
    """Have such a server, in a thread of its own."""
    over = threading.Event()

    def serve() -> None:
        link, _ = listening.accept()
        with tls.wrap_socket(link, server_side=True) as spoken:
            spoken.recv(1)
            silence.asked.set()
            over.wait()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        silence = Silence(f"https://127.0.0.1:{listening.getsockname()[1]}")
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield silence
        finally:
            over.set()
            thread.join()


def test_a_question_that_is_given_up_leaves_no_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS would wait for the server's farewell, and the loop is over before it comes."""
    authority = Authority()

    async def ask_and_give_up(silence: Silence) -> None:
        cluster = {"certificate-authority-data": b64(authority.pem), "server": silence.url}
        async with KubeCluster(find(kubeconfig(tmp_path / "config", cluster=cluster, user={}))) as api:
            asking = asyncio.create_task(api.get(PODS, "a", "n"))
            await asyncio.to_thread(silence.asked.wait)
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking

    left: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: left.append(found.exc_value))
    with keeping_silent(authority.server(tmp_path)) as silence, warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        asyncio.run(ask_and_give_up(silence))
        gc.collect()
    assert left == []
