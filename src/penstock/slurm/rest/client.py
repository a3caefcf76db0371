"""The client. Reads are cheap and incremental, writes go by host list, and every error says what it means for us."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

import msgspec

from penstock.slurm import hostlist
from penstock.slurm.rest.errors import SlurmError, SlurmNotFound, SlurmRefused, SlurmUnreachable, error_for
from penstock.slurm.rest.messages import (
    Answer,
    JobReport,
    JobsAnswer,
    JobStateReport,
    JobStatesAnswer,
    NodeReport,
    NodesAnswer,
    PartitionReport,
    PartitionsAnswer,
    PingAnswer,
    PingReport,
)
from penstock.slurm.rest.transport import Reply, Transport

VERSIONS = ("v0.0.45", "v0.0.44", "v0.0.43", "v0.0.42")
"""Versions of the REST API that we speak, best first. 24.11 has only the last."""

_A = TypeVar("_A", bound=Answer)
Token = Callable[[], str]
"""Gives a token that is good now; asked for every request, so that it may be refreshed."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """All nodes at one moment."""

    nodes: dict[str, NodeReport]
    updated: int
    """Slurm's time of this answer: give it to the next question, as it is, and nothing is missed."""


class SlurmRest:
    """The questions and orders that we have for Slurm."""

    def __init__(self, transport: Transport, *, token: Token, user: str = "slurm") -> None:
        self._transport = transport
        self._token = token
        self._user = user
        self._version: str | None = None

    async def version(self) -> str:
        """The newest version of the API that both sides speak, found out once."""
        if self._version is None:
            for version in VERSIONS:
                if (await self._send("GET", f"/slurm/{version}/ping/")).status != 404:
                    self._version = version
                    break
            else:
                raise SlurmRefused(
                    f"slurmrestd at {self._transport.url} speaks none of {', '.join(VERSIONS)}; use 24.11 or newer"
                )
        return self._version

    async def ping(self) -> list[PingReport]:
        """Which slurmctlds answer."""
        return list((await self._get("ping/", PingAnswer)).pings)

    async def nodes(self, *, since: int = 0) -> Nodes | None:
        """All nodes, or None when nothing has changed since the given time: `updated` of the answer before."""
        try:
            answer = await self._get_if_changed(f"nodes/?update_time={since}" if since else "nodes/", NodesAnswer)
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

    async def job_states(self) -> list[JobStateReport]:
        """Every job with its state, and nothing else of it."""
        return list((await self._get("jobs/state/", JobStatesAnswer)).jobs or ())

    async def job(self, number: int) -> JobReport:
        """One job, or `SlurmNotFound`. Slurm answers for an array's first number with all tasks of the array."""
        path = f"job/{number}"
        jobs = (await self._get(path, JobsAnswer)).jobs
        found = next((job for job in jobs if job.job_id == number), None)
        if found is None:
            raise SlurmNotFound(f"{path}: Slurm knows no such job")
        return found

    async def release_job(self, number: int) -> None:
        """Take the hold off a job, whoever put it there."""
        await self._change("POST", f"job/{number}", {"hold": False})

    async def update_nodes(self, names: Iterable[str], **changes: object) -> None:
        """Change many nodes in one request: `state=["DRAIN"], reason="..."`.

        One unknown name makes Slurm refuse the whole request; what was done to the others by then is not said.
        """
        body = {"name": [hostlist.compress(names)], **changes}
        await self._change("POST", "nodes/", body)

    async def delete_node(self, name: str) -> None:
        """Forget a node; `SlurmConflict` while jobs run on it."""
        await self._change("DELETE", f"node/{quote(name, safe='')}")

    async def reconfigure(self) -> None:
        """Let slurmctld read its configuration again."""
        await self._get("reconfigure/", Answer)

    async def _get(self, path: str, kind: type[_A], *, empty_is_not_found: bool = False) -> _A:
        answer = await self._get_if_changed(path, kind, empty_is_not_found=empty_is_not_found)
        if answer is None:
            raise SlurmUnreachable(f"{path}: slurmrestd says that nothing has changed, to a question without a time")
        return answer

    async def _get_if_changed(self, path: str, kind: type[_A], *, empty_is_not_found: bool = False) -> _A | None:
        reply = await self._send("GET", f"/slurm/{await self.version()}/{path}")
        if reply.status == 304:
            return None
        _refuse_denied(reply, path)
        answer = _decoded(reply, kind, path)
        if empty_is_not_found and reply.status == 200 and not getattr(answer, "nodes", ()):
            # For a node it does not know, slurmrestd answers 200, error number 0 and no node.
            raise SlurmNotFound(f"{path}: {_words(answer) or 'Slurm knows no such node'}")
        _raise_for(reply.status, answer, path)
        return answer

    async def _change(self, method: str, path: str, body: object = None) -> None:
        reply = await self._send(method, f"/slurm/{await self.version()}/{path}", body)
        _refuse_denied(reply, path)
        _raise_for(reply.status, _decoded(reply, Answer, path), path)

    async def _send(self, method: str, path: str, body: object = None) -> Reply:
        headers = {"X-SLURM-USER-NAME": self._user, "X-SLURM-USER-TOKEN": self._token()}
        if body is None:
            return await self._transport.send(method, path, headers)
        headers["Content-Type"] = "application/json"
        return await self._transport.send(method, path, headers, msgspec.json.encode(body))


def _decoded(reply: Reply, kind: type[_A], path: str) -> _A:
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except msgspec.DecodeError as problem:
        raise SlurmUnreachable(f"{path}: slurmrestd's answer ({reply.status}) cannot be read: {problem}") from problem


def _refuse_denied(reply: Reply, path: str) -> None:
    """Before reading further: with this answer there may be no JSON."""
    if reply.status == 401:
        raise SlurmRefused(f"{path}: slurmrestd does not accept the token; check the JWT key and the clocks")


def _raise_for(status: int, answer: Answer, path: str) -> None:
    if answer.errors:
        raise _error(answer, path)
    if status >= 500:
        raise SlurmUnreachable(f"{path}: slurmrestd answered {status}")
    if status >= 400:
        raise SlurmRefused(f"{path}: slurmrestd answered {status}")


def _error(answer: Answer, path: str) -> SlurmError:
    return error_for(answer.errors[0].error_number, f"{path}: {_words(answer)}")


def _words(answer: Answer) -> str:
    return "; ".join(str(fault) for fault in answer.errors)
