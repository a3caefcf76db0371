"""The client. Reads are cheap and incremental, writes go by host list, and every error says what it means for us."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from penstock.slurm import hostlist
from penstock.slurm.rest.errors import SlurmError, SlurmSilent
from penstock.slurm.rest.jobs import Jobs
from penstock.slurm.rest.messages import (
    Answer,
    NodeReport,
    NodesAnswer,
    PartitionReport,
    PartitionsAnswer,
    PingAnswer,
    PingReport,
)
from penstock.slurm.rest.reservations import Reservations


@dataclass(frozen=True, slots=True)
class Nodes:
    """All nodes at one moment."""

    nodes: dict[str, NodeReport]
    updated: int
    """Slurm's time of this answer: give it to the next question, as it is, and nothing is missed."""


class SlurmRest(Jobs, Reservations):
    """The questions and orders that we have for Slurm."""

    async def ping(self) -> list[PingReport]:
        """Which slurmctlds answer."""
        return list((await self._get("ping/", PingAnswer)).pings)

    async def nodes(self, *, since: int = 0) -> Nodes | None:
        """All nodes, or None when nothing has changed since the given time: `updated` of the answer before."""
        try:
            if since:
                answer = await self._get_if_changed(f"nodes/?update_time={since}", NodesAnswer)
            else:
                answer = await self._get("nodes/", NodesAnswer)
        except SlurmSilent:
            raise  # whoever does not answer at all would not do so to another question
        except SlurmError:
            if not since:
                raise
            # 24.11 cannot tell what changed when nodes did and partitions did not (error -1); it can tell everything.
            return await self.nodes()
        if answer is None:
            return None
        return Nodes({node.name: node for node in answer.nodes}, answer.last_update.number)

    async def node(self, name: str) -> NodeReport:
        """One node, or `SlurmNotFound`."""
        answer = await self._get(f"node/{quote(name, safe='')}", NodesAnswer, empty_is_not_found=True)
        return answer.nodes[0]

    async def partitions(self) -> dict[str, PartitionReport]:
        """All partitions as slurmctld runs them."""
        answer = await self._get("partitions/", PartitionsAnswer)
        return {partition.name: partition for partition in answer.partitions}

    async def update_nodes(self, names: Iterable[str], **changes: object) -> None:
        """Change many nodes in one request: `state=["DRAIN"], reason="..."`.

        One unknown name makes Slurm refuse the whole request; what was done to the others by then is not said.
        """
        body = {"name": [hostlist.compress(names)], **changes}
        await self._change("POST", "nodes/", body)

    async def delete_node(self, name: str) -> None:
        """Forget a node; `SlurmConflict` while jobs run on it."""
        await self.delete_nodes([name])

    async def delete_nodes(self, names: Iterable[str]) -> None:
        """Forget nodes that registered by themselves, in one request.

        `SlurmConflict` when jobs run on one of them or it is reserved, `SlurmRefused` when one is in slurm.conf,
        `SlurmNotFound` when Slurm does not know one. The others are gone then.
        """
        await self._change("DELETE", f"node/{quote(hostlist.compress(names), safe='')}")

    async def reconfigure(self) -> None:
        """Let slurmctld read its configuration again."""
        await self._get("reconfigure/", Answer)
