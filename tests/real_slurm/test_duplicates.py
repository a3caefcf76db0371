"""slurmctld is killed right after the start of a job: Slurm drains the node and holds the job, the operator heals both.

The operator is whole, over a store in place of Kubernetes, and Slurm is real, of both releases.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from penstock.cluster.store import Store
from penstock.operator.runtime import Operator, Settings
from penstock.slurm.refused import refusals
from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.messages import JobReport, NodeReport
from penstock.slurm.rest.transport import Transport
from tests.played.started_twice import as_slurm_shows_it
from tests.simulation.manifests import JWT_KEY, NAMESPACE, RESOURCES, sample, whole

from .crashing import CrashingCluster, crashing_cluster
from .slurm_parser import SlurmParser
from .test_rest_client import token

PATIENCE = 30.0


@pytest.fixture
def cluster(slurm: SlurmParser) -> Iterator[CrashingCluster]:
    with crashing_cluster(slurm.root, nodes=3) as running:
        yield running


class Stage:
    """A cluster after the crash, and an operator that starts only then."""

    def __init__(self, cluster: CrashingCluster, rest: SlurmRest, store: Store) -> None:
        self.cluster, self.rest, self._store = cluster, rest, store

    async def refusal(self, number: int) -> tuple[NodeReport, JobReport]:
        """The node that refused a job, and the job, once its first run is over."""

        async def held() -> bool:
            job = await self.rest.job(number)
            return job.hold and not job.condition.holds_node and bool(await self._refused())

        await self.until(held)
        [name] = await self._refused()
        return await self.rest.node(name), await self.rest.job(number)

    async def _refused(self) -> dict[str, int]:
        answer = await self.rest.nodes()
        return refusals(answer.nodes.values()) if answer else {}

    async def events(self) -> dict[str, str]:
        """What the operator told, by its reason."""
        listed = await self._store.list(whole("Event"))
        return {one.reason: one.note for one in listed.items if "Released" in one.reason or "Given" in one.reason}

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Ask until it is so: Slurm tells nobody."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if await holds():
                    return
                await asyncio.sleep(0.1)

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[None]:
        """Run an operator for the Controller of this Slurm."""
        key = base64.b64encode(self.cluster.mini.jwt_key).decode()
        for body in [*sample(), _secret(JWT_KEY, {"jwt.key": key})]:
            await self._store.apply(RESOURCES[body["kind"]], body, manager="test")
        operator = Operator(self._store, Settings(), locate=lambda _: f"unix://{self.cluster.mini.socket}")
        running = asyncio.create_task(operator.run())
        try:
            yield
        finally:
            operator.stop()
            await running


def _secret(name: str, data: dict[str, str]) -> dict[str, object]:
    about = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": about, "data": data}


@asynccontextmanager
async def staged(cluster: CrashingCluster) -> AsyncIterator[Stage]:
    transport, store = Transport(f"unix://{cluster.mini.socket}"), Store()
    try:
        yield Stage(cluster, SlurmRest(transport, token=lambda: token(cluster.mini.jwt_key)), store)
    finally:
        await transport.close()
        await store.close()


def test_the_job_runs_to_its_end_and_its_node_takes_jobs(cluster: CrashingCluster) -> None:
    """And nothing that a person did is undone: a drain, a hold."""
    number = cluster.start_twice()
    held = cluster.submit("-H")

    async def healed() -> None:
        async with staged(cluster) as stage:
            node, job = await stage.refusal(number)
            as_slurm_shows_it(node, job)
            other = next(name for name in cluster.mini.nodes if name != node.name)
            cluster.root("scontrol", "update", f"nodename={other}", "state=drain", "reason=look at its fan")
            async with stage.operator():
                await stage.until(lambda: _is_over(stage, number))
                assert (await stage.rest.node(node.name)).condition.drain is False
                assert cluster.runs(number) == ["run", "run", "over"]
                assert (await stage.rest.job(held)).hold
                assert (await stage.rest.node(other)).reason == "look at its fan"
                assert (await stage.rest.node(other)).condition.drain
                assert cluster.machine.run("srun", "-w", node.name, "hostname") == "ctl\n"
                await stage.until(lambda: _told_both(stage))
            told = await stage.events()
            assert f": {number}. That was refused on {node.name};" in told["JobsReleased"]
            assert told["NodesGivenBack"].startswith(f"{node.name}: drained by Slurm")

    asyncio.run(healed())


def test_a_job_that_an_administrator_holds_besides_stays_held(cluster: CrashingCluster) -> None:
    """Its node is given back all the same."""
    number = cluster.start_twice()

    async def healed() -> None:
        async with staged(cluster) as stage:
            node, _ = await stage.refusal(number)
            cluster.root("scontrol", "hold", str(number))

            async def given_back() -> bool:
                return not (await stage.rest.node(node.name)).condition.drain

            async with stage.operator():
                await stage.until(given_back)
            job = await stage.rest.job(number)
            assert (job.hold, job.state_reason) == (True, "JobHeldAdmin")
            assert set(await stage.events()) == {"NodesGivenBack"}

    asyncio.run(healed())


async def _is_over(stage: Stage, number: int) -> bool:
    return (await stage.rest.job(number)).condition.finished


async def _told_both(stage: Stage) -> bool:
    return set(await stage.events()) == {"JobsReleased", "NodesGivenBack"}
