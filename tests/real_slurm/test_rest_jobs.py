"""What our client's orders about jobs do to real jobs of both releases: to scripts, arrays and suspended jobs."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest

from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.errors import SlurmRefused
from penstock.slurm.rest.jobs import KILL
from penstock.slurm.rest.transport import Transport

from .guarded import Place, Pod, child
from .mini_cluster import MiniCluster, mini_cluster
from .slurm_parser import SlurmParser
from .test_rest_client import PATIENCE, registered, token

R = TypeVar("R")
SLEEPS = "#!/bin/sh\nexec sleep 600\n"
LISTENS = """\
#!/bin/bash
for one in CONT TERM; do trap "echo $one >>/tmp/heard-$SLURM_JOB_ID" $one; done
echo begun >>/tmp/heard-$SLURM_JOB_ID
while :; do sleep 0.05; done
"""


@pytest.fixture
def mini(slurm: SlurmParser) -> Iterator[MiniCluster]:
    """Give each test a cluster of its own: what jobs leave behind takes its time."""
    with mini_cluster(slurm.root, nodes=3) as cluster:
        yield cluster


class Shop:
    """Jobs, our client, and the machine that they are on."""

    def __init__(self, mini: MiniCluster, transport: Transport) -> None:
        self.rest = SlurmRest(transport, token=lambda: token(mini.jwt_key))
        self._mini, self._transport = mini, transport
        self._machine = Pod(Place(mini.place, {}), child(mini.unshare), -1)

    def slurm(self, *command: str) -> str:
        """What a command of Slurm prints."""
        return self._machine.run("env", f"SLURM_JWT={token(self._mini.jwt_key)}", *command).strip()

    def heard(self, number: int) -> list[str]:
        """What a script that listens has heard."""
        return self._machine.run("sh", "-c", 'cat "$0" 2>/dev/null', f"/tmp/heard-{number}").split()

    async def submit(self, script: str, **more: object) -> int:
        """Submit a job."""
        job = {"name": "j", "partition": "compute", "script": script, "current_working_directory": "/tmp"}
        body = {"job": job | {"environment": ["PATH=/bin:/usr/bin"]} | more}
        headers = {"X-SLURM-USER-NAME": "slurm", "X-SLURM-USER-TOKEN": token(self._mini.jwt_key)}
        path = f"/slurm/{await self.rest.version()}/job/submit"
        headers |= {"Content-Type": "application/json"}
        reply = await self._transport.send("POST", path, headers, json.dumps(body).encode())
        return int(json.loads(reply.body)["job_id"])

    async def listener(self, node: str) -> int:
        """Submit a job that listens, and wait until it does."""
        number = await self.submit(LISTENS, required_nodes=[node])
        await self.until(lambda: self.heard(number) == ["begun"])
        return number

    def states(self) -> dict[str, str]:
        """Each job and task with its state and node."""
        lines = self.slurm("squeue", "-hrat", "all", "-o", "%i=%T %N").splitlines()
        return {name: state.strip() for name, _, state in (line.partition("=") for line in lines)}

    async def until(self, holds: Callable[[], object]) -> None:
        """Ask until it is so: Slurm tells nobody."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if holds():
                    return
                await asyncio.sleep(0.05)


def ask(mini: MiniCluster, question: Callable[[Shop], Awaitable[R]]) -> R:
    async def asking() -> R:
        transport = Transport(f"unix://{mini.socket}")
        try:
            shop = Shop(mini, transport)
            await registered(shop.rest, mini)
            return await question(shop)
        finally:
            await transport.close()

    return asyncio.run(asking())


def test_a_signal_reaches_the_script_of_every_job_on_the_node_and_of_no_other(mini: MiniCluster) -> None:
    async def told(shop: Shop) -> list[str]:
        first, other = await shop.listener("w1"), await shop.listener("w2")
        for signal in ("CONT", "TERM"):
            reached = await shop.rest.signal_jobs(["w1"], signal)
            assert [(one.step_id, one.trouble) for one in reached] == [(str(first), "")]
            await shop.until(lambda signal=signal: signal in shop.heard(first))  # type: ignore[misc]
        assert {name: state.split()[0] for name, state in shop.states().items()} == {
            str(first): "RUNNING",
            str(other): "RUNNING",
        }
        return shop.heard(other)

    assert ask(mini, told) == ["begun"]


def test_who_is_cancelled_hears_sigterm_first(mini: MiniCluster) -> None:
    """And while it tidies up, its node is still at work."""

    async def cancelled(shop: Shop) -> tuple[bool, str]:
        number = await shop.listener("w1")
        await shop.rest.signal_jobs(["w1"], KILL)
        busy = (await shop.rest.node("w1")).condition.busy
        await shop.until(lambda: "TERM" in shop.heard(number))
        await shop.until(lambda: "COMPLETING" not in shop.states()[str(number)])
        return busy, shop.states()[str(number)]

    assert ask(mini, cancelled) == (True, "CANCELLED w1")


async def spread(shop: Shop, script: str = SLEEPS) -> dict[str, str]:
    """Run an array, a task on each node; tells which, and first the one whose record has the number of the array."""
    number = await shop.submit(script, array="0-2")
    await shop.until(lambda: sum("RUNNING" in one for one in shop.states().values()) == 3)
    records = {one.step_id: one.job_id.number for one in await shop.rest.jobs_on(["w1", "w2", "w3"])}
    tasks = sorted(shop.states().items(), key=lambda task: records[task[0]] != number)
    assert records[tasks[0][0]] == number
    return {state.split()[1]: name for name, state in tasks}


def test_of_an_array_only_the_task_on_the_node_is_cancelled(mini: MiniCluster) -> None:
    """All are, one after the other: one of them has the array's own number."""

    async def cancelled(shop: Shop) -> None:
        on = await spread(shop)
        await shop.rest.update_nodes(on, state=["DRAIN"], reason="a test")
        gone = set[str]()
        for node, task in on.items():
            # Named or not: of who is named only those are meant that are on the node.
            named = None if gone else [*on.values()]
            assert [one.step_id for one in await shop.rest.signal_jobs([node], KILL, only=named)] == [task]
            gone.add(task)
            await shop.until(lambda task=task: "CANCELLED" in shop.states()[task])  # type: ignore[misc]
            assert {name for name, state in shop.states().items() if "CANCELLED" in state} == gone

    ask(mini, cancelled)


def test_of_an_array_only_the_task_on_the_node_is_requeued(mini: MiniCluster, slurm: SlurmParser) -> None:
    """On 24.11 none is."""

    async def requeued(shop: Shop) -> None:
        on = await spread(shop)
        if not slurm.version.startswith("26.05"):
            with pytest.raises(SlurmRefused, match="cannot requeue"):
                await shop.rest.requeue_jobs(on.values())
            assert set(on.values()) == {name for name, state in shop.states().items() if "RUNNING" in state}
            return
        await shop.rest.update_nodes(on, state=["DRAIN"], reason="a test")
        left = set(on.values())
        for node, task in on.items():
            assert await shop.rest.requeue_jobs([one.step_id for one in await shop.rest.jobs_on([node])]) == {}
            left.remove(task)
            await shop.until(lambda task=task: "PENDING" in shop.states()[task])  # type: ignore[misc]
            assert {name for name, state in shop.states().items() if "RUNNING" in state} == left

    ask(mini, requeued)


def test_a_node_with_a_suspended_job_says_that_it_is_idle_and_the_job_is_found(mini: MiniCluster) -> None:
    async def suspended(shop: Shop) -> tuple[object, ...]:
        number = await shop.listener("w1")
        shop.slurm("scontrol", "suspend", str(number))
        await shop.until(lambda: "SUSPENDED" in shop.states()[str(number)])
        await shop.rest.update_nodes(["w1"], state=["DRAIN"], reason="a test")
        drained = (await shop.rest.node("w1")).condition.drained
        found = await shop.rest.jobs_on(["w1"])
        return drained, [one.step_id for one in found] == [str(number)], found[0].trouble

    assert ask(mini, suspended) == (True, True, "Job can not be altered now, try again later")


def test_a_suspended_job_can_be_cancelled_by_its_node(mini: MiniCluster) -> None:
    """Other signals do not reach it; who wants to be rid of it need not resume it first."""

    async def cancelled(shop: Shop) -> str:
        number = await shop.listener("w1")
        shop.slurm("scontrol", "suspend", str(number))
        await shop.until(lambda: "SUSPENDED" in shop.states()[str(number)])
        await shop.rest.update_nodes(["w1"], state=["DRAIN"], reason="a test")
        await shop.rest.signal_jobs(["w1"], "TERM")
        await shop.rest.comment_job(number, "penstock: look out")
        [reached] = await shop.rest.signal_jobs(["w1"], KILL)
        await shop.until(lambda: shop.states().get(str(number), "CANCELLED").startswith("CANCELLED"))
        return reached.trouble

    assert ask(mini, cancelled) == ""


def test_people_find_the_comment_with_slurms_own_commands(mini: MiniCluster) -> None:
    async def commented(shop: Shop) -> tuple[bool, str, str]:
        number = await shop.submit(SLEEPS, comment="mine", required_nodes=["w1"])
        await shop.rest.comment_job(number, "penstock: look out")
        shown = "AdminComment=penstock: look out" in shop.slurm("scontrol", "show", "job", str(number))
        listed = [shop.slurm("squeue", "-hO", field).strip() for field in ("admin_comment", "comment")]
        return shown, listed[0], listed[1]

    assert ask(mini, commented) == (True, "penstock: look out", "mine")
