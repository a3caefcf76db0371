"""Questions and orders on their way: the version that both sides speak, the token, and what an answer means."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

import msgspec

from penstock.slurm.rest.errors import SlurmError, SlurmNotFound, SlurmRefused, SlurmUnreachable, error_for
from penstock.slurm.rest.messages import Answer
from penstock.slurm.rest.transport import Reply, Transport

VERSIONS = ("v0.0.45", "v0.0.44", "v0.0.43", "v0.0.42")
"""Versions of the REST API that we speak, best first. 24.11 has only the last."""

_A = TypeVar("_A", bound=Answer)
Token = Callable[[], str]
"""Gives a token that is good now; asked for every request, so that it may be refreshed."""


class Exchange:
    """What all parts of the client go through."""

    def __init__(self, transport: Transport, *, token: Token, user: str = "slurm") -> None:
        self._transport = transport
        self._token = token
        self._user = user
        self._version: str | None = None

    async def version(self) -> str:
        """The newest version of the API that both sides speak; found out anew after slurmrestd was away."""
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

    async def _get(self, path: str, kind: type[_A], *, empty_is_not_found: bool = False) -> _A:
        answer = await self._get_if_changed(path, kind, empty_is_not_found=empty_is_not_found)
        if answer is None:
            raise SlurmUnreachable(f"{path}: slurmrestd says that nothing has changed, to a question without a time")
        return answer

    async def _get_if_changed(self, path: str, kind: type[_A], *, empty_is_not_found: bool = False) -> _A | None:
        reply = await self._ask("GET", path)
        if reply.status == 304:
            return None
        answer = _read(reply, kind, path)
        if empty_is_not_found and reply.status == 200 and answer.empty:
            # For what it does not know, slurmrestd answers 200, error number 0 and nothing else.
            raise SlurmNotFound(f"{path}: {_words(answer) or 'Slurm knows no such thing'}")
        _raise_for(reply.status, answer, path)
        return answer

    async def _change(self, method: str, path: str, body: object = None) -> None:
        await self._order(method, path, body, Answer)

    async def _order(
        self, method: str, path: str, body: object, kind: type[_A], *, forgive: Collection[int] = ()
    ) -> _A:
        """Give an order, and return the answer; errors of the numbers that are forgiven are left in there."""
        reply = await self._ask(method, path, body)
        answer = _read(reply, kind, path)
        if not answer.errors or any(fault.error_number not in forgive for fault in answer.errors):
            _raise_for(reply.status, answer, path)
        return answer

    async def _ask(self, method: str, path: str, body: object = None) -> Reply:
        """Ask in the version that both speak. Another slurmrestd may have come in the place of the one that told it."""
        known = self._version
        try:
            reply = await self._send(method, f"/slurm/{await self.version()}/{path}", body)
        except SlurmUnreachable:
            self._version = None
            raise
        if known is not None and reply.status == 404 and not _is_json(reply):
            # It does not know the address, so nothing was done.
            self._version = None
            return await self._send(method, f"/slurm/{await self.version()}/{path}", body)
        return reply

    async def _send(self, method: str, path: str, body: object = None) -> Reply:
        headers = {"X-SLURM-USER-NAME": self._user, "X-SLURM-USER-TOKEN": self._token()}
        if body is None:
            return await self._transport.send(method, path, headers)
        headers["Content-Type"] = "application/json"
        return await self._transport.send(method, path, headers, msgspec.json.encode(body))


def _is_json(reply: Reply) -> bool:
    return reply.body.lstrip().startswith(b"{")


def _read(reply: Reply, kind: type[_A], path: str) -> _A:
    if reply.status == 401:
        # There may be no JSON in it.
        raise SlurmRefused(f"{path}: slurmrestd does not accept the token; check the JWT key and the clocks")
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except msgspec.DecodeError as problem:
        raise SlurmUnreachable(f"{path}: slurmrestd's answer ({reply.status}) cannot be read: {problem}") from problem


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
