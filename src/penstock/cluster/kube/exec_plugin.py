"""Credentials from a program that a kubeconfig names (client.authentication.k8s.io v1 and v1beta1).

The program runs without a shell and without a terminal; its complaints go to our stderr as they are, and what it
prints, being secret, goes nowhere.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from penstock.api.objects import Json
from penstock.cluster.errors import Misconfigured, Unreachable
from penstock.cluster.kube.identity import Identity
from penstock.cluster.kube.tls import KeyPair, Trust

VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_SECONDS_TO_ANSWER = 60.0
"""Plugins ask a cloud, and some of them a person's browser session, before they answer."""
_SECONDS_EARLY = 10.0
"""A token is renewed so long before it ends, for requests that are under way then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to run, as the kubeconfig says it."""

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    cluster: Json = field(default_factory=dict, repr=False)
    """What the program is told about the cluster; empty: nothing."""
    install_hint: str = ""

    async def run(self) -> bytes:
        """What it prints."""
        try:
            process = await asyncio.create_subprocess_exec(
                self.command, *self.arguments, stdin=DEVNULL, stdout=PIPE, env=os.environ | self._told()
            )
        except OSError as error:
            message = f"credential plugin {self.command} does not start: {error.strerror}. {self.install_hint}"
            raise Misconfigured(message.strip()) from None
        return await self._printed(process)

    def _told(self) -> dict[str, str]:
        spec: Json = {"interactive": False} | ({"cluster": self.cluster} if self.cluster else {})
        question = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        return {**self.environment, "KUBERNETES_EXEC_INFO": msgspec.json.encode(question).decode()}

    async def _printed(self, process: Process) -> bytes:
        try:
            async with asyncio.timeout(_SECONDS_TO_ANSWER):
                printed, _ = await process.communicate()
        except TimeoutError:
            raise Unreachable(
                f"credential plugin {self.command} said nothing within {_SECONDS_TO_ANSWER:.0f} s"
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise Unreachable(f"credential plugin {self.command} failed (exit {process.returncode}); see its stderr")
        return printed


class Plugin:
    """Credentials that a program makes, kept until they expire or the server rejects them."""

    def __init__(self, program: Program, trust: Trust, tls: ssl.SSLContext) -> None:
        self._program = program
        self._trust = trust
        self._tls = tls
        self._current: Identity | None = None
        self._good_until = 0.0
        # Whoever comes first runs the program; the others wait for what it says.
        self._running = asyncio.Lock()

    async def identity(self) -> Identity:
        """The last answer of the program while it is good, else a new one."""
        async with self._running:
            now = asyncio.get_running_loop().time()
            if self._current is None or now >= self._good_until:
                status = _read(await self._program.run(), self._program)
                self._current = self._identity(status)
                self._good_until = asyncio.get_running_loop().time() + status.seconds_left(datetime.now(UTC))
            return self._current

    def reject(self, identity: Identity) -> None:
        """Ask the program again at the next request."""
        if identity is self._current:
            self._current = None

    def _identity(self, status: _Status) -> Identity:
        if not status.client_certificate_data:
            # One context for all tokens: connections are kept per context.
            return Identity(self._tls, status.token)
        pair = KeyPair(status.client_certificate_data.encode(), status.client_key_data.encode())
        try:
            return Identity(self._trust.context(pair), status.token)
        except ssl.SSLError:
            raise Misconfigured(
                f"credential plugin {self._program.command}: its certificate or key is not PEM"
            ) from None


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None

    def __repr__(self) -> str:
        return "_Status(...)"

    def seconds_left(self, now: datetime) -> float:
        """How long to use it; for ever when the program names no end."""
        if self.expiration_timestamp is None:
            return float("inf")
        return (self.expiration_timestamp - now).total_seconds() - _SECONDS_EARLY


class _Credential(msgspec.Struct, rename="camel"):
    api_version: str
    status: _Status


def _read(printed: bytes, program: Program) -> _Status:
    try:
        credential = msgspec.json.decode(printed, type=_Credential)
    except msgspec.DecodeError:
        raise Misconfigured(f"credential plugin {program.command} did not print an ExecCredential") from None
    if credential.api_version != program.api_version:
        raise Misconfigured(
            f"credential plugin {program.command} answers in {credential.api_version}, "
            f"the kubeconfig asks for {program.api_version}; make them the same"
        )
    status = credential.status
    if not status.token and not (status.client_certificate_data and status.client_key_data):
        raise Misconfigured(f"credential plugin {program.command} gave neither a token nor a certificate with its key")
    return status
