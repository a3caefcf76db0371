"""What the operator tells Slurm about nodes, and what real Slurm of both releases makes of it.

Topology and features come from machines' annotations; a node that is no more goes from Slurm's books.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from penstock.operator.nodeset.drains import MARK
from penstock.operator.nodeset.marks import TOPOLOGY
from penstock.operator.nodeset.records import FEATURES
from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.errors import SlurmConflict, SlurmNotFound, SlurmRefused
from penstock.slurm.rest.messages import NodeReport
from penstock.slurm.rest.transport import Reply, Transport
from tests.played.telling import Telling, telling

from .guarded import Place, Pod, child
from .mini_cluster import CONF, MiniCluster, file, mini_cluster
from .slurm_parser import SlurmParser
from .test_rest_client import PATIENCE, registered, token

TREE = """\
- topology: net
  cluster_default: true
  tree:
    switches:
      - {switch: top, children: "s[1-2]"}
      - {switch: s1, nodes: ""}
      - {switch: s2, nodes: ""}
"""
STATIC = "NodeName=w90 CPUs=1 Feature=w State=UNKNOWN\n"


@pytest.fixture
def mini(slurm: SlurmParser) -> Iterator[MiniCluster]:
    with mini_cluster(slurm.root, nodes=6, adapt=lambda wanted: adapted(wanted, {})) as cluster:
        yield cluster


@pytest.fixture
def networked(slurm: SlurmParser) -> Iterator[MiniCluster]:
    """Give a cluster with switches, where Slurm can have them; a node that is at none of them runs no jobs."""
    topology = {"/etc/slurm/topology.yaml": file(TREE.encode(), mode=0o644)} if has_topology(slurm) else {}
    with mini_cluster(slurm.root, nodes=4, adapt=lambda wanted: adapted(wanted, topology)) as cluster:
        yield cluster


def adapted(wanted: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Describe a cluster of workers of the NodeSet `w`, in which silence is soon noticed."""
    conf = CONF.replace("ReturnToService=2", f"ReturnToService=2\nSlurmdTimeout=2\n{STATIC}".rstrip())
    daemons = [{**one, "command": [_of_w(word) for word in one["command"]]} for one in wanted["daemons"]]
    files = wanted["files"] | {"/etc/slurm/slurm.conf": file(conf.encode(), mode=0o644)} | more
    return {**wanted, "files": files, "daemons": daemons}


def _of_w(word: str) -> str:
    return word.replace("Feature=compute", "Feature=w,compute")


def has_topology(slurm: SlurmParser) -> bool:
    return slurm.version.startswith("26.05")


class Counting(Transport):
    """A transport that notes orders."""

    orders: list[str]

    async def send(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        """Note it, and send it."""
        if method != "GET":
            self.orders.append(f"{method} {path.split('/', 3)[3]}")
        return await super().send(method, path, headers, body)


class Site:
    """A Slurm, an operator's knowledge of it, and what was ordered."""

    def __init__(self, mini: MiniCluster, rest: SlurmRest, stage: Telling, orders: list[str]) -> None:
        self.rest, self.stage, self.orders = rest, stage, orders
        self.machine = Pod(Place(mini.place, {}), child(mini.unshare), -1)

    async def nodes(self) -> dict[str, NodeReport]:
        """All nodes."""
        answer = await self.rest.nodes()
        return answer.nodes if answer else {}

    async def until(self, true: Callable[[dict[str, NodeReport]], bool]) -> None:
        """Ask until it is so: Slurm tells nobody."""
        async with asyncio.timeout(2 * PATIENCE):
            while True:
                if true(await self.nodes()):
                    return
                await asyncio.sleep(0.1)

    def kill(self, *nodes: str) -> None:
        """End slurmds as a lost machine does."""
        for node in nodes:
            found = self.machine.run("pgrep", "-f", f"slurmd -D -Z -N {node} ").split()
            self.machine.run("kill", "-KILL", *found, user="root")

    def start(self, node: str) -> None:
        """Start a slurmd of this name anew; without -D it returns when it runs."""
        parameters = _of_w("Port=7100 CPUs=4 RealMemory=500 Feature=compute")
        self.machine.run("/usr/sbin/slurmd", "-Z", "-N", node, "--conf", parameters, user="root")


def play(mini: MiniCluster, story: Callable[[Site], Awaitable[None]]) -> None:
    """Run a story once all nodes have registered."""
    asyncio.run(_played(mini, story))


async def _played(mini: MiniCluster, story: Callable[[Site], Awaitable[None]]) -> None:
    async with _site(mini) as site:
        await story(site)


@asynccontextmanager
async def _site(mini: MiniCluster) -> AsyncIterator[Site]:
    url, orders = f"unix://{mini.socket}", list[str]()
    transport = Transport(url)

    def connect(to: str) -> Transport:
        made = Counting(to)
        made.orders = orders
        return made

    rest = SlurmRest(transport, token=lambda: token(mini.jwt_key))
    try:
        await registered(rest, MiniCluster(mini.socket, mini.jwt_key, mini.logs, (*mini.nodes, "w90"), mini.place, 0))
        async with telling(mini.jwt_key, url=url, connect=connect) as stage:
            yield Site(mini, rest, stage, orders)
    finally:
        await transport.close()


def test_topology_and_features_of_machines_become_those_of_nodes(networked: MiniCluster, slurm: SlurmParser) -> None:
    """One request for each group; what Slurm cannot be told, 24.11's topology, it is not told."""
    speaks = has_topology(slurm)

    async def story(site: Site) -> None:
        for number, where in ((1, "a"), (2, "a"), (3, "b")):
            await site.stage.worker(f"w{number}", where)
        await site.stage.machine("a", **{TOPOLOGY: "net:s1", FEATURES: "zone=eu-1,fast"})
        await site.stage.machine("b", **{TOPOLOGY: "net:s2"})
        assert (await site.stage.look()).refusals == []
        assert site.orders == ["POST nodes/"] * (3 if speaks else 1)
        nodes = await site.nodes()
        ours = ("w", "compute", "k8s/fast", "k8s/zone=eu-1")
        assert {nodes[name].features for name in ("w1", "w2")} == {ours}
        assert {nodes[name].active_features for name in ("w1", "w2")} == {ours}
        assert nodes["w3"].features == ("w", "compute")
        if speaks:
            assert [nodes[name].topology for name in ("w1", "w2", "w3", "w4")] == ["net:s1", "net:s1", "net:s2", ""]
            assert "SwitchName=s1 Level=0 LinkSpeed=0 Nodes=w[1-2]" in site.machine.run("scontrol", "show", "topology")
        assert "w[1-2]" in site.machine.run("sinfo", "-h", "-o", "%N %f").split()
        await site.rest.reconfigure()
        await site.until(lambda found: found["w1"].features == ours and found["w1"].condition.responding)
        await site.stage.look()
        assert len(site.orders) == (3 if speaks else 1), "nothing more is to be told"
        await site.stage.machine("a", **{FEATURES: "slow"})
        await site.stage.look()
        nodes = await site.nodes()
        assert nodes["w2"].features == nodes["w2"].active_features == ("w", "compute", "k8s/slow")
        assert [nodes[name].topology for name in ("w1", "w3")] == ["", "net:s2" if speaks else ""]

    play(networked, story)


def test_a_topology_that_slurm_does_not_know_is_told_in_its_words(networked: MiniCluster, slurm: SlurmParser) -> None:
    """And asked for once; the features beside it are told all the same."""
    refused = ["Requested topology configuration is not available"] if has_topology(slurm) else []

    async def story(site: Site) -> None:
        await site.stage.worker("w1", "a")
        await site.stage.machine("a", **{TOPOLOGY: "net:s9", FEATURES: "fast"})
        for _ in range(2):
            told = await site.stage.look()
            assert [words.rpartition(": ")[2] for words in told.refusals] == refused
        assert len(site.orders) == len(refused) + 1
        assert (await site.nodes())["w1"].features == ("w", "compute", "k8s/fast")

    play(networked, story)


def test_records_of_nodes_that_are_no_more_go_and_no_other(mini: MiniCluster) -> None:
    """w1 has a worker, w2 and w3 are gone, w4 was drained by a person, w5 by us, w6 is well; w90 is in slurm.conf."""

    async def story(site: Site) -> None:
        await site.stage.node_set(pruneSlurmNodeRecords="NodeNotFound", replicas=1)
        await site.stage.worker("w1", "a")
        await site.rest.update_nodes(["w4"], state=["DRAIN"], reason="look at its fan")
        await site.rest.update_nodes(["w5"], state=["DRAIN"], reason="penstock: scale-in", extra=MARK)
        site.kill("w1", "w2", "w3", "w4", "w5")
        await site.rest.update_nodes(
            [f"w{number}" for number in range(1, 6)], state=["DOWN"], reason="slurm-operator: the worker's pod ends"
        )
        silent = {"w1", "w2", "w3", "w4", "w5"}
        await site.until(lambda found: silent <= {name for name, one in found.items() if is_silent(one)})
        assert not (await site.stage.look()).trouble
        assert site.orders == ["DELETE node/w%5B2-3%2C5%5D"]
        left = await site.nodes()
        assert set(left) == {"w1", "w4", "w6", "w90"}
        assert left["w4"].condition.drain
        assert site.machine.run("srun", "-w", "w6", "hostname") == "ctl\n", "the others work on"
        site.start("w5")
        await site.until(lambda found: "w5" in found and found["w5"].condition.responding)
        back = (await site.nodes())["w5"]
        assert (back.state, back.reason, back.extra) == (("IDLE", "DYNAMIC_NORM"), "", ""), "as if it had never been"

    play(mini, story)


def test_slurm_forgets_what_it_can_and_says_what_it_keeps(mini: MiniCluster) -> None:
    """As the client tells it, and the played slurmrestd does."""

    async def story(site: Site) -> None:
        with pytest.raises(SlurmNotFound, match="Invalid node name"):
            await site.rest.delete_nodes(["nobody", "w1"])
        with pytest.raises(SlurmRefused, match="Invalid node state"):
            await site.rest.delete_nodes(["w2", "w90"])
        assert set(await site.nodes()) == {"w3", "w4", "w5", "w6", "w90"}
        site.machine.run("sbatch", "-w", "w3", "-D", "/tmp", "-o", "/dev/null", "--wrap", "sleep 60")
        await site.until(lambda found: found["w3"].condition.busy)
        with pytest.raises(SlurmConflict, match="busy"):
            await site.rest.delete_nodes(["w3", "w5"])
        assert set(await site.nodes()) == {"w3", "w4", "w6", "w90"}
        told = f"SLURM_JWT={token(mini.jwt_key)}"
        site.machine.run(
            "env", told, "scontrol", "create", "reservation", "ReservationName=r", "StartTime=now",
            "Duration=60", "Nodes=w4", "Users=root", "Flags=MAINT,IGNORE_JOBS",
        )  # fmt: skip
        await site.until(lambda found: found["w4"].reservation == "r")
        with pytest.raises(SlurmConflict, match="busy"):
            await site.rest.delete_nodes(["w4", "w6"])
        assert set(await site.nodes()) == {"w3", "w4", "w90"}

    play(mini, story)


def is_silent(node: NodeReport) -> bool:
    return {"DOWN", "NOT_RESPONDING"} <= {*node.state}
