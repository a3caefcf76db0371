"""logs, exec, cp and port-forward reach the container that is meant, and pass on what it says."""

from __future__ import annotations

import asyncio
import io
import os
import tarfile
from pathlib import Path

import pytest

from penstock.cli.objects import forwarding
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.forwarding import Ports
from penstock.cluster.streams import SocketWire, Wire

from .world import Command, World, node_set, pod, thing

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.fixture
def stocked(world: World) -> World:
    world.put(
        pod("ctl-0", "slurmctld", "reconfigure", labels={"app": "ctl"}, status=READY),
        pod("w-0", labels={"app": "w"}),
        pod("w-1", labels={"app": "w"}, status=READY),
        node_set(status={"selector": "app=w", "nodeSetHash": "x"}),
        thing("v1", "Service", "api", spec={"selector": {"app": "ctl"}, "ports": [{"port": 80, "targetPort": 6820}]}),
    )
    world.cluster.said = {
        ("ctl-0", "slurmctld"): b"one\ntwo\n",
        ("ctl-0", "reconfigure"): b"looked\n",
        ("w-0", "slurmd"): b"zero\n",
        ("w-1", "slurmd"): b"won\nlast",
    }
    return world


def test_a_log_is_shown_as_it_is(stocked: World) -> None:
    assert stocked.says("logs", "w-1", "-c", "slurmd") == "won\nlast"
    assert stocked.says("logs", "pod/ctl-0", "reconfigure") == "looked\n"
    said = stocked.run("logs", "ctl-0")
    assert (said.out, said.err) == ("one\ntwo\n", 'Defaulted container "slurmctld" out of: slurmctld, reconfigure\n')


def test_options_of_logs_reach_the_cluster(stocked: World) -> None:
    stocked.says("logs", "w-0", "-f", "--tail=5", "--since=1m", "--timestamps", "-p", "--limit-bytes=9")
    options = stocked.cluster.asked[-1][2]
    assert (options.follow, options.tail, options.since_seconds) == (True, 5, 60)
    assert (options.timestamps, options.previous, options.limit_bytes) == (True, True, 9)
    stocked.says("logs", "w-0", "--tail=-1")
    assert stocked.cluster.asked[-1][2].tail is None


def test_logs_of_many(stocked: World) -> None:
    assert stocked.says("logs", "-l", "app=w", "--prefix") == (
        "[pod/w-0/slurmd] zero\n[pod/w-1/slurmd] won\n[pod/w-1/slurmd] last"
    )
    assert stocked.cluster.asked[-1][2].tail == 10
    assert stocked.says("logs", "ctl-0", "--all-containers") == "one\ntwo\nlooked\n"
    said = stocked.run("logs", "nss/compute")
    assert (said.out, said.err) == ("won\nlast", "Found 2 pods, using pod/w-1; --all-pods shows them all\n")
    assert stocked.says("logs", "nss/compute", "--all-pods", "--prefix").count("[pod/") == 3


def test_what_has_no_log_is_told(stocked: World) -> None:
    assert "no container 'x'; it has slurmctld, reconfigure" in stocked.run("logs", "ctl-0", "-c", "x").err
    assert stocked.run("logs").code == 2
    assert '"nobody" not found' in stocked.run("logs", "nobody").err
    del stocked.cluster.said["w-0", "slurmd"]
    said = stocked.run("logs", "-l", "app=w")
    assert (said.code, said.out) == (1, "won\nlast")
    assert stocked.run("logs", "-l", "app=w", "--ignore-errors").code == 0


def test_exec_passes_on_output_and_exit_code(stocked: World) -> None:
    stocked.cluster.commands = [Command(b"partition\n", b"oops\n", 3)]
    said = stocked.run("exec", "ctl-0", "-c", "slurmctld", "-n", "slurm", "--", "scontrol", "show", "-o", "partition")
    assert (said.code, said.out, said.err) == (3, "partition\n", "oops\n")
    assert stocked.cluster.executed == [("ctl-0", "slurmctld", ("scontrol", "show", "-o", "partition"))]


def test_exec_into_what_makes_pods_prefers_a_ready_one(stocked: World) -> None:
    stocked.cluster.commands = [Command(), Command()]
    stocked.says("exec", "nss/compute", "--", "true")
    stocked.run("exec", "svc/api", "--", "true")
    assert [place[0] for place in stocked.cluster.executed] == ["w-1", "ctl-0"]


def test_exec_passes_our_input_on(stocked: World) -> None:
    command = Command(b"done\n", wants_input=True)
    stocked.cluster.commands = [command]
    read, write = os.pipe()
    os.write(write, b"echo hello\n")
    os.close(write)
    kept = os.dup(0)
    try:
        os.dup2(read, 0)
        said = stocked.run("exec", "-it", "w-1", "--", "bash")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(read)
    assert (said.code, said.out) == (0, "done\n")
    assert said.err == "Unable to use a TTY - input is not a terminal\n"
    assert bytes(command.given) == b"echo hello\n"


@pytest.mark.parametrize("words", [["w-1"], ["w-1", "--"], ["--", "true"], ["w-1", "ls"]])
def test_exec_without_a_command_or_a_pod_is_a_mistake(stocked: World, words: list[str]) -> None:
    said = stocked.run("exec", *words)
    assert said.code == 2
    assert "write penstock exec POD -- COMMAND" in said.err


def test_exec_in_a_pod_that_has_ended_is_refused(stocked: World) -> None:
    stocked.put(pod("old", status={"phase": "Failed"}))
    assert "pod old has ended (Failed)" in stocked.run("exec", "old", "--", "true").err


def archive(**files: str) -> bytes:
    """What tar in a container would say."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name.replace("__", "/"))
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def test_files_come_out_of_a_container(stocked: World) -> None:
    stocked.cluster.commands = [Command(archive(**{"output.txt": "x"})), Command(archive(d__a="1", d__b="2"))]
    stocked.says("cp", "slurm/w-1:/root/output.txt", "./copy.txt")
    assert (stocked.directory / "copy.txt").read_text() == "x"
    stocked.says("cp", "w-1:/root/d", ".")
    assert [(stocked.directory / "d" / name).read_text() for name in "ab"] == ["1", "2"]
    assert stocked.cluster.executed[0] == ("w-1", "slurmd", ("tar", "-C", "/root", "-cf", "-", "--", "output.txt"))


def test_what_climbs_out_of_the_destination_is_refused(stocked: World) -> None:
    stocked.cluster.commands = [Command(archive(**{"d__..__..__evil": "x"}))]
    said = stocked.run("cp", "w-1:/root/d", "here")
    assert said.code == 1
    assert "not taken" in said.err
    assert not (stocked.directory.parent / "evil").exists()


def test_files_go_into_a_container(stocked: World) -> None:
    (stocked.directory / "data").mkdir()
    (stocked.directory / "data/a").write_text("1")
    command = Command(wants_input=True)
    stocked.cluster.commands = [Command(code=1), command]
    stocked.says("cp", "data", "w-1:/home/me/new")
    with tarfile.open(fileobj=io.BytesIO(bytes(command.given))) as tar:
        assert tar.getnames() == ["new", "new/a"]
    assert [words[:3] for _, _, words in stocked.cluster.executed] == [
        ("test", "-d", "/home/me/new"), ("tar", "-C", "/home/me"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a", "b"], "one of SOURCE and DESTINATION"),
        (["a"], "write penstock cp"),
        (["nowhere", "w-1:/x"], "no such file"),
        (["w-1:/x", "y"], "tar in pod w-1 ended with 2: no such"),
    ],
)
def test_a_copy_that_cannot_be_is_told(stocked: World, words: list[str], told: str) -> None:
    stocked.cluster.commands = [Command(err=b"no such\n", code=2)]
    said = stocked.run("cp", *words)
    assert said.code in (1, 2)
    assert told in said.err


@pytest.mark.parametrize(
    ("word", "meant"),
    [("80", Ports(80, 80)), ("8080:80", Ports(8080, 80)), (":80", Ports(0, 80)), ("http", Ports(0, 0, "http")),
     ("8080:http", Ports(8080, 0, "http"))],
)  # fmt: skip
def test_ports_are_written_as_in_kubectl(word: str, meant: Ports) -> None:
    assert forwarding.ports(word) == meant


@pytest.mark.parametrize("word", ["", "0", "70000", "80:", "a:b:c", "8080:70000"])
def test_what_is_no_port_is_refused(word: str) -> None:
    with pytest.raises(Misuse):
        forwarding.ports(word)


def test_the_port_of_a_service_leads_to_that_of_its_pod() -> None:
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"name": "web", "port": 80, "targetPort": "http"}]}}
    target = {"metadata": {"name": "p"}, "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8080}]}]}}
    assert forwarding.resolved(Ports(9, 80), service, target) == Ports(9, 8080)
    assert forwarding.resolved(Ports(0, 0, "http"), None, target) == Ports(8080, 8080, "http")
    with pytest.raises(Complaint, match="has no port 81; it has 80"):
        forwarding.resolved(Ports(81, 81), service, target)
    with pytest.raises(Complaint, match="no port called 'x'"):
        forwarding.resolved(Ports(0, 0, "x"), None, target)


def test_a_connection_is_carried_both_ways(tmp_path: Path) -> None:
    async def story() -> bytes:
        async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write((await reader.readline()).upper())
            writer.close()
            await writer.wait_closed()

        async def connect() -> Wire:
            return SocketWire(*await asyncio.open_unix_connection(tmp_path / "pod"))

        async with (
            await asyncio.start_unix_server(shout, tmp_path / "pod"),
            await forwarding.listen("localhost", Ports(0, 80), connect) as server,
        ):
            host, _, port = forwarding.addresses(server)[0].partition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"hello\n")
            answer = await reader.read()  # until the end: what the pod ends is over here too
            writer.close()
            await writer.wait_closed()
            return answer

    assert asyncio.run(story()) == b"HELLO\n"
