"""Logs, commands and connections come through the API as the engine gives them, both ways."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from penstock.cluster.errors import NotFound, NotYet, Refused, Unreachable
from penstock.cluster.kube import channels
from penstock.cluster.streams import LogOptions, Session, Size

from .machine import PODS, Machine, pod, run
from .played import gathered


async def ended(session: Session) -> tuple[int, bytes, bytes]:
    """The exit code of a command, and all it wrote."""
    outputs = asyncio.gather(*(_read(session, name) for name in ("stdout", "stderr")))
    code = await session.wait()
    stdout, stderr = await outputs
    await session.close()
    return code, stdout, stderr


async def _read(session: Session, name: str) -> bytes:
    return b"".join([block async for block in getattr(session, name)])


async def execute(machine: Machine, *command: str, stdin: bool = False, tty: bool = False) -> Session:
    """A command in the main container."""
    return await machine.cluster.execute(
        "pod", namespace="slurm", container="main", command=command, stdin=stdin, tty=tty
    )


def test_a_command_runs_and_its_code_and_outputs_come_back() -> None:
    async def test(machine: Machine) -> None:
        session = await execute(machine, "sh", "-c", "echo out; echo 'two words' >&2; exit 7")
        assert await ended(session) == (7, b"out\n", b"two words\n")
        asked = (("sh", "-c", "echo out; echo 'two words' >&2; exit 7"), False, False)
        assert machine.containers.asked == [("slurm/pod/main", asked)]

    run(test)


def test_input_goes_in_and_its_end_too() -> None:
    async def test(machine: Machine) -> None:
        session = await execute(machine, "cat", stdin=True)
        await session.write(b"one ")
        await session.write(b"two")
        await session.close_stdin()
        assert await ended(session) == (0, b"one two", b"")

    run(test)


def test_much_comes_whole() -> None:
    async def test(machine: Machine) -> None:
        session = await execute(machine, "head", "-c", "5000000", "/dev/zero")
        code, stdout, _ = await ended(session)
        assert (code, len(stdout)) == (0, 5_000_000)

    run(test)


def test_the_terminal_is_told_how_large_it_is() -> None:
    async def test(machine: Machine) -> None:
        session = await execute(machine, "cat", stdin=True, tty=True)
        await session.resize(Size(132, 43))
        await machine.containers.resized.wait()
        await session.close_stdin()
        await ended(session)
        assert machine.containers.sizes == [(132, 43)]
        assert machine.containers.asked[0][1] == (("cat",), True, True)

    run(test)


def test_who_hangs_up_leaves_no_command_behind() -> None:
    async def test(machine: Machine) -> None:
        session = await execute(machine, "sleep", "1000")
        await session.close()
        await machine.containers.closed.wait()
        await session.close()

    run(test)


def test_a_command_that_cannot_start_is_told_of() -> None:
    async def test(machine: Machine) -> None:
        session = await execute(machine, "no-such-program")
        with pytest.raises(Refused, match='"no-such-program": executable file not found'):
            await session.wait()
        await session.close()

    run(test)


def test_an_old_client_is_understood() -> None:
    """v4 is v5 without an end of input."""

    async def test(machine: Machine) -> None:
        url = "http://machine/api/v1/namespaces/slurm/pods/pod/exec?container=main&command=echo&command=hi&stdout=1"
        async with machine.session.ws_connect(url, protocols=["v4.channel.k8s.io"]) as socket:
            assert socket.protocol == channels.V4
            messages = [message.data async for message in socket]
        assert messages[:2] == [b"\x01", b"\x01hi\n"]
        assert channels.exit_code(messages[2][1:]) == 0

    run(test)


@pytest.mark.parametrize("path", ["exec?container=main&command=ls", "portforward?ports=80"])
def test_a_protocol_that_nobody_knows_is_refused(path: str) -> None:
    async def test(machine: Machine) -> None:
        url = f"http://machine/api/v1/namespaces/slurm/pods/pod/{path}"
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await machine.session.ws_connect(url, protocols=["SPDY/3.1+portforward.k8s.io"])
        assert caught.value.status == 400

    run(test)


def test_where_there_is_nothing_nothing_is_reached() -> None:
    async def test(machine: Machine) -> None:
        await machine.store.create(PODS, pod("early"))
        cluster = machine.cluster
        for name, container, kind, words in (
            ("none", "main", NotFound, 'pods "none" not found'),
            ("pod", "none", NotFound, "container none is not valid for pod pod"),
            ("pod", "", Refused, "a container name must be specified for pod pod"),
            ("early", "main", NotYet, "is waiting to start: no machine has the pod yet"),
        ):
            with pytest.raises(kind, match=words):
                await cluster.execute(name, namespace="slurm", container=container, command=["ls"])
            with pytest.raises(kind, match=words):
                await gathered(cluster.read_log(name, namespace="slurm", container=container))
        with pytest.raises(NotYet):
            await cluster.forward("early", namespace="slurm", port=80)
        assert machine.containers.asked == []

    run(test)


def test_every_option_of_a_log_is_passed_on() -> None:
    options = LogOptions(
        follow=True,
        previous=True,
        tail=2,
        since_seconds=5,
        since_time="2026-11-16T00:00:00Z",
        timestamps=True,
        limit_bytes=100,
    )

    async def test(machine: Machine) -> None:
        log = machine.cluster.read_log("pod", namespace="slurm", container="side", options=options)
        assert await gathered(log) == b"two\nthree\n"
        assert machine.containers.asked == [("slurm/pod/side", options)]

    run(test)


def test_a_log_is_there_for_reconcilers_as_lines() -> None:
    async def test(machine: Machine) -> None:
        lines = machine.cluster.logs("pod", namespace="slurm", container="main", tail=2)
        assert [line async for line in lines] == ["two", "three"]
        machine.containers.log = b""
        lines = machine.cluster.logs("pod", namespace="slurm", container="main", tail=2)
        assert [line async for line in lines] == []

    run(test)


def test_who_stops_reading_a_log_lets_it_go() -> None:
    async def test(machine: Machine) -> None:
        machine.containers.goes_on = True
        lines = machine.cluster.logs("pod", namespace="slurm", container="main", tail=1)
        assert await anext(lines) == "three"
        await lines.aclose()
        await machine.containers.closed.wait()

    run(test)


@pytest.mark.parametrize("trouble", [Unreachable("the disk is gone"), KeyError("a mistake of ours")])
def test_a_log_that_breaks_does_not_pass_for_a_whole_one(trouble: Exception) -> None:
    async def test(machine: Machine) -> None:
        machine.containers.breaks = trouble
        with pytest.raises(Unreachable, match="the connection broke off"):
            await gathered(machine.cluster.read_log("pod", namespace="slurm", container="main"))
        assert (await machine.cluster.get(PODS, "pod", "slurm")).metadata.name == "pod"

    run(test)


@pytest.mark.parametrize(
    ("trouble", "kind", "words"),
    [
        (Unreachable("conmon is gone"), Refused, "conmon is gone"),
        (KeyError("a mistake of ours"), Unreachable, "the connection broke off before the command ended"),
    ],
)
def test_a_command_that_is_lost_is_told_of(trouble: Exception, kind: type[Exception], words: str) -> None:
    async def test(machine: Machine) -> None:
        machine.containers.breaks = trouble
        session = await execute(machine, "sh", "-c", "echo begun; exec sleep 1000")
        with pytest.raises(kind, match=words):
            await ended(session)
        await session.close()
        await machine.containers.closed.wait()

    run(test)


def test_a_container_that_has_not_begun_has_no_log_yet() -> None:
    async def test(machine: Machine) -> None:
        machine.containers.waits = True
        with pytest.raises(NotYet, match='container "main" in pod "pod" is waiting to start: ContainerCreating'):
            await gathered(machine.cluster.read_log("pod", namespace="slurm", container="main"))

    run(test)


async def _shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A service: it repeats what it hears, louder, until it hears a full stop."""
    while (heard := await reader.read(65536)) and heard != b".":
        writer.write(heard.upper())
    writer.close()
    await writer.wait_closed()


def test_a_connection_carries_bytes_both_ways_until_one_side_hangs_up() -> None:
    async def test(machine: Machine) -> None:
        async with await asyncio.start_server(_shout, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            wire = await machine.cluster.forward("pod", namespace="slurm", port=port)
            await wire.send(b"hello")
            assert await wire.receive() == b"HELLO"
            await wire.send(b".")
            assert await wire.receive() == b""
            await wire.close()
            assert machine.containers.asked == [("slurm/pod", port)]

    run(test)


def test_a_port_where_nobody_listens_is_told_of() -> None:
    async def test(machine: Machine) -> None:
        with pytest.raises(Refused, match="port 1 of pod pod: Connect"):
            await machine.cluster.forward("pod", namespace="slurm", port=1)

    run(test)
