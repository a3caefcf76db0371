"""The network of pods: real namespaces, bridges and cables, and nothing left of them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from penstock.engine.iproute import Ip, IpFailed
from penstock.engine.network import NAMESPACES, Network, NetworkError
from penstock.engine.rtnetlink import Change, Refused, Wire, up

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces are root's")

CLUSTER = f"test-{os.getpid()}"
A, B = IPv4Address("10.244.0.2"), IPv4Address("10.244.0.3")


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def ours(cluster: str = CLUSTER) -> list[str]:
    if not NAMESPACES.is_dir():
        return []
    return sorted(path.name for path in NAMESPACES.iterdir() if path.name.startswith(f"penstock-{cluster}"))


def machine() -> list[str]:
    """What the machine's own network looks like."""
    forwards = Path("/proc/sys/net/ipv4/ip_forward").read_text()
    return [forwards, ip("-json", "link"), *(ip("-json", what, "show") for what in ("route", "rule")), _lan()]


def _lan() -> str:
    return json.dumps([(link["ifname"], link.get("addr_info")) for link in json.loads(ip("-json", "address"))])


@pytest.fixture
def network() -> Iterator[Network]:
    made = Network(CLUSTER)
    yield made
    asyncio.run(Network(CLUSTER).remove_fabric())
    assert ours() == []


def inside(namespace: Path, code: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python program in a pod's network."""
    words = ["ip", "netns", "exec", namespace.name, sys.executable, "-S", "-c", code, *arguments]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


SERVE = """
import socket, sys
server = socket.create_server((sys.argv[1], 6817))
print("ready", flush=True)
peer, address = server.accept()
peer.sendall(address[0].encode())
"""
CALL = """
import socket, sys
print(socket.create_connection((sys.argv[1], 6817), timeout=5).recv(100).decode())
"""


def call(network: Network, *, server: str, address: IPv4Address, client: Path) -> str:
    """What a server in a pod says to a client: by which address it knows it."""
    with inside(network.namespace(server), SERVE, str(address)) as serving:
        assert serving.stdout
        try:
            assert serving.stdout.readline() == "ready\n"
            with inside(client, CALL, str(address)) as calling:
                assert calling.stdout
                return calling.stdout.read().strip()
        finally:
            serving.kill()


def test_pods_reach_each_other_and_the_machine_sees_nothing_of_it(network: Network) -> None:
    before = machine()

    async def make() -> None:
        await network.ensure_fabric()
        await network.attach("a", A)
        await network.attach("b", B)

    asyncio.run(make())
    assert call(network, server="a", address=A, client=network.namespace("b")) == str(B)
    assert call(network, server="b", address=B, client=network.fabric) == str(network.gateway), "the fabric, too"
    assert machine() == before
    assert network.attached() == {"a", "b"}


def test_a_pod_has_loopback_a_way_out_and_no_other_address(network: Network) -> None:
    async def make() -> None:
        await network.ensure_fabric()
        await network.attach("a", A)

    asyncio.run(make())
    name = network.namespace("a").name
    found = {link["ifname"]: link for link in json.loads(ip("-n", name, "-json", "address"))}
    assert {kind: [one["local"] for one in link["addr_info"]] for kind, link in found.items()} == {
        "lo": ["127.0.0.1", "::1"],
        "eth0": [str(A)],
    }
    assert "UP" in found["lo"]["flags"]
    assert found["eth0"]["address"] == "02:50:0a:f4:00:02", "the address says who it is, so no memory of it goes stale"
    assert json.loads(ip("-n", name, "-json", "route", "show", "default"))[0]["gateway"] == "10.244.0.1"


def test_pods_know_nobody_but_the_bridge(network: Network) -> None:
    """The kernel's table of neighbours is one for all: 40 pods that know each other overflow it."""

    async def make() -> None:
        await network.ensure_fabric()
        await network.attach("a", A)
        await network.attach("b", B)

    asyncio.run(make())
    for server, address, client in (("a", A, "b"), ("b", B, "a"), ("a", A, "b")):
        call(network, server=server, address=address, client=network.namespace(client))
    for pod_id in ("a", "b"):
        known = json.loads(ip("-n", network.namespace(pod_id).name, "-json", "neighbour"))
        assert [(one["dst"], one["state"]) for one in known] == [(str(network.gateway), ["PERMANENT"])]
    said = [f"/proc/sys/net/ipv4/conf/{what}/send_redirects" for what in ("all", "br0")]
    assert ip("netns", "exec", network.name, "cat", *said) == "0\n0\n", "nobody tells them of a shorter way"


def test_the_bridge_keeps_its_hardware_address_whoever_comes_and_goes(network: Network) -> None:
    """One that changes takes DNS and Slurm down for seconds (facts/engine.md)."""

    def hardware() -> str:
        return str(json.loads(ip("-n", network.name, "-json", "link", "show", "br0"))[0]["address"])

    async def story() -> set[str]:
        await network.ensure_fabric()
        seen = {hardware()}
        await network.attach("a", A)
        seen.add(hardware())
        await network.detach("a")
        return seen | {hardware()}

    assert asyncio.run(story()) == {"02:50:0a:f4:00:01"}


def test_an_address_serves_its_next_pod_at_once(network: Network) -> None:
    """Nobody remembers the hardware behind it wrongly, and the old cable is gone before the new one comes."""

    async def story(server: str) -> None:
        await network.ensure_fabric()
        await network.attach("client", B)
        await network.attach(server, A)

    asyncio.run(story("first"))
    assert call(network, server="first", address=A, client=network.namespace("client")) == str(B)
    asyncio.run(network.detach("first"))
    asyncio.run(story("second"))
    assert call(network, server="second", address=A, client=network.namespace("client")) == str(B)
    assert network.attached() == {"client", "second"}


def test_a_process_that_outlives_its_pod_is_cut_off(network: Network) -> None:
    """It keeps the namespace alive; its address may be somebody else's by now."""
    asyncio.run(_begun(network))
    with inside(network.namespace("a"), SERVE, str(A)) as staying:
        assert staying.stdout
        try:
            assert staying.stdout.readline() == "ready\n"
            asyncio.run(network.detach("a"))
            assert json.loads(ip("-n", network.name, "-json", "link", "show", "type", "veth")) == []
        finally:
            staying.kill()


def test_forty_pods_at_once_are_quick(network: Network) -> None:
    """0.4 s on two idle cores, 2.4 s with ten others at work."""
    pods = {f"pod-{number}": A + number for number in range(40)}

    async def make() -> float:
        await network.ensure_fabric()
        begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for pod_id, address in pods.items():
                group.create_task(network.attach(pod_id, address))
        return time.monotonic() - begun

    assert asyncio.run(make()) < 15
    assert network.attached() == set(pods)
    last = network.namespace("pod-39")
    assert call(network, server="pod-0", address=A, client=last) == str(A + 39)


def test_everything_can_be_done_twice(network: Network) -> None:
    async def story() -> None:
        for _ in range(2):
            await network.ensure_fabric()
            await network.attach("a", A)
        links = ip("-n", network.name, "link")
        await network.attach("a", A)
        assert ip("-n", network.name, "link") == links, "a pod at the network keeps its cable"
        for _ in range(2):
            await network.detach("a")
        for _ in range(2):
            await network.remove_fabric()

    asyncio.run(story())
    assert ours() == []


class Died(BaseException):
    """kill -9 between two commands."""


class Dying(Ip):
    """An `ip` that is killed after so many commands; with it goes who talks with the kernel itself."""

    def __init__(self, commands: int) -> None:
        super().__init__()
        self.left = commands

    def wire(self, namespace: Path) -> Wire:
        """To the kernel, as long as it lives."""
        dying = self

        class Until(Wire):
            def send(self, changes: Sequence[Change]) -> None:
                lived, dying.left = changes[: max(dying.left, 0)], dying.left - len(changes)
                super().send(lived)
                if dying.left < 0:
                    raise Died

        return Until(namespace)

    async def batch(self, commands: Sequence[str], *, inside: str = "") -> None:
        """Run those that it lives for."""
        lived, self.left = commands[: self.left], self.left - len(commands)
        if lived:
            await super().batch(lived, inside=inside)
        if self.left < 0:
            raise Died

    async def remove(self, commands: Sequence[str], *, inside: str = "") -> None:
        """Run those that it lives for."""
        lived, self.left = commands[: self.left], self.left - len(commands)
        if lived:
            await super().remove(lived, inside=inside)
        if self.left < 0:
            raise Died


def test_whenever_the_engine_dies_the_next_one_makes_it_whole(network: Network) -> None:
    """At every command of fabric, attach and detach; the network works afterwards, and all of it goes."""
    points = 0
    while True:
        killed = Dying(points)
        try:
            asyncio.run(_life(Network(CLUSTER, ip=killed, wire=killed.wire)))
        except Died:
            points += 1
        else:
            break
        asyncio.run(_begun(network))
        reached = ip("netns", "exec", network.namespace("a").name, "ip", "-json", "route", "get", str(B))
        assert json.loads(reached)[0]["prefsrc"] == str(A)
        assert json.loads(ip("-n", network.name, "-json", "link", "show", "type", "veth", "master", "br0"))
        asyncio.run(network.remove_fabric())
        assert ours() == []
    assert points > 15, "every command was a place to die at"


async def _begun(network: Network) -> None:
    await network.ensure_fabric()
    await network.attach("a", A)


async def _life(network: Network) -> None:
    await _begun(network)
    await network.detach("a")
    await network.remove_fabric()


@pytest.mark.parametrize("name", ["", ".a"])
def test_a_file_where_a_namespace_should_be_is_no_obstacle(network: Network, name: str) -> None:
    """`ip netns add` was killed in between, or the machine was restarted and /run is on a disk."""
    NAMESPACES.mkdir(exist_ok=True)
    (NAMESPACES / f"{network.name}{name}").touch()
    asyncio.run(_begun(network))
    assert ip("-n", network.namespace("a").name, "link", "show", "eth0")


def test_leftovers_are_known_and_go(network: Network) -> None:
    NAMESPACES.mkdir(exist_ok=True)
    (NAMESPACES / f"{network.name}.half").touch()
    assert network.attached() == {"half"}
    asyncio.run(network.remove_fabric())
    assert ours() == []


def test_a_cable_that_a_pod_pulled_is_laid_again(network: Network) -> None:
    """A privileged pod may delete its own link; its namespace, with what runs in it, stays the same."""
    asyncio.run(_begun(network))
    same = network.namespace("a").stat().st_ino
    ip("-n", network.namespace("a").name, "link", "delete", "eth0")
    asyncio.run(_begun(network))
    assert network.namespace("a").stat().st_ino == same
    assert str(A) in ip("-n", network.namespace("a").name, "address", "show", "eth0")


def test_a_fabric_that_somebody_removed_is_made_again_with_its_pods(network: Network) -> None:
    asyncio.run(_begun(network))
    with network.fabric.open("rb"):  # the kernel cannot take it apart yet, nor the pod's end of its cable
        ip("netns", "delete", network.name)
        asyncio.run(_begun(network))
    assert ip("-n", network.name, "link", "show", "master", "br0")


def test_another_address_for_a_pod_that_has_one_is_refused(network: Network) -> None:
    asyncio.run(_begun(network))
    with pytest.raises(NetworkError, match=r"pod a is attached with address 10\.244\.0\.2, not 10\.244\.0\.3"):
        asyncio.run(network.attach("a", B))


def test_another_subnet_for_a_fabric_that_has_one_is_refused(network: Network) -> None:
    asyncio.run(network.ensure_fabric())
    with pytest.raises(NetworkError, match=r"has the address 10\.244\.0\.1/16 and should have 10\.9\.0\.1/24"):
        asyncio.run(Network(CLUSTER, subnet=IPv4Network("10.9.0.0/24")).ensure_fabric())


def test_clusters_leave_each_other_alone(network: Network) -> None:
    """Also one whose name begins like another's, with the same addresses."""
    other = Network(f"{CLUSTER}-b")
    try:
        asyncio.run(_begun(network))
        asyncio.run(_begun(other))
        assert network.attached() == {"a"}
        asyncio.run(network.remove_fabric())
        assert ours() == [other.name, f"{other.name}.a"]
        assert ip("-n", other.name, "link", "show", "master", "br0")
    finally:
        asyncio.run(other.remove_fabric())


def test_without_a_fabric_no_pod_is_attached(network: Network) -> None:
    with pytest.raises(NetworkError, match=rf"network of pod a: there is no network {network.name}"):
        asyncio.run(network.attach("a", A))
    assert network.attached() == set()


def test_what_ip_refuses_is_told_in_its_words_with_the_command(network: Network) -> None:
    asyncio.run(network.ensure_fabric())
    with pytest.raises(IpFailed, match=r'^`ip link set nobody up`: Cannot find device "nobody"$'):
        asyncio.run(Ip().batch(["link set lo up", "link set nobody up", "link set lo up"], inside=network.name))


def test_what_the_kernel_refuses_is_told_with_the_command(network: Network) -> None:
    asyncio.run(_begun(network))
    with Wire(network.fabric) as wire, pytest.raises(Refused, match=r"^`ip link set nobody up`: No such device$"):
        wire.send([up("lo"), up("nobody"), up("br0")])


def test_only_what_is_not_there_may_fail_to_be_removed(network: Network) -> None:
    asyncio.run(network.ensure_fabric())
    asyncio.run(Ip().remove(["link delete nobody", "netns delete nobody-either"], inside=network.name))
    with pytest.raises(IpFailed, match="Operation not supported"):
        asyncio.run(Ip().remove(["link delete lo"], inside=network.name))


@pytest.mark.parametrize("name", ["", "A", "a b", "a.b", "a/b", "-a", "x" * 64])
def test_names_that_could_leave_their_place_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not the"):
        Network("a").namespace(name)
    with pytest.raises(ValueError, match="is not the"):
        Network(name)


def test_a_machine_without_ip_is_told_what_to_install() -> None:
    with pytest.raises(IpFailed, match="install the package iproute2"):
        asyncio.run(Ip("no-such-program").run("link"))


def test_a_late_ip_is_ended(tmp_path: Path) -> None:
    slow = tmp_path / "ip"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 20\n")
    slow.chmod(0o755)
    begun = time.monotonic()
    with pytest.raises(IpFailed, match="did not end within 0 s"):
        asyncio.run(Ip(str(slow), timeout=0.3).run("link"))
    assert time.monotonic() - begun < 15, "it was ended, it did not end"
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_a_cancelled_attach_leaves_no_ip_behind(tmp_path: Path) -> None:
    """What runs on after a cancellation would meet the detach that follows."""
    slow = tmp_path / "ip"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid.tmp; mv {tmp_path}/pid.tmp {tmp_path}/pid\nexec sleep 20\n")
    slow.chmod(0o755)

    async def story() -> None:
        task = asyncio.create_task(Ip(str(slow)).run("link"))
        while not (tmp_path / "pid").exists():  # noqa: ASYNC110 - another process tells us
            await asyncio.sleep(0.01)
        begun = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - begun < 15, "it was ended, it did not end"

    asyncio.run(story())
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
