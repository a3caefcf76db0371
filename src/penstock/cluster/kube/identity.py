"""Who we say we are: a bearer token, a client certificate, both or neither.

Tokens change while we run: kubelet renews the one of the pod, plugins hand out short ones. So each request asks for
the identity of the moment, and tells when the server did not know it.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from penstock.cluster.errors import Forbidden

_LOG = logging.getLogger(__name__)
_FRESH_SECONDS = 60.0
"""kubelet renews a token long before it ends; a minute late is early enough."""


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """What one request shows. Compared by identity: a new one is worth a new try."""

    tls: ssl.SSLContext
    token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not (self.token.isascii() and self.token.isprintable()):
            raise Forbidden("the bearer token has characters that no token has; look at where it comes from")

    @property
    def headers(self) -> dict[str, str]:
        """The headers that carry it."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


class Credentials(Protocol):
    """Where identities come from."""

    async def identity(self) -> Identity:
        """The identity to show now."""
        ...

    def reject(self, identity: Identity) -> None:
        """Tell that the server did not know this one; the next should be another, if there is one."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Credentials that stay as they are."""

    only: Identity

    async def identity(self) -> Identity:
        """Always the same."""
        return self.only

    def reject(self, identity: Identity) -> None:
        """Nothing to be done: there is no other."""


class TokenFile:
    """A token in a file that somebody renews, such as kubelet in a pod."""

    def __init__(self, path: Path, tls: ssl.SSLContext) -> None:
        self._path = path
        self._current = Identity(tls, _token_in(path))
        self._read_at: float | None = None

    async def identity(self) -> Identity:
        """The token as the file had it at most a minute ago."""
        now = asyncio.get_running_loop().time()
        if self._read_at is None or now - self._read_at >= _FRESH_SECONDS:
            self._read()
            self._read_at = now
        return self._current

    def reject(self, identity: Identity) -> None:
        """Read the file again for the next request."""
        if identity is self._current:
            self._read_at = None

    def _read(self) -> None:
        try:
            token = _token_in(self._path)
        except OSError as error:
            _LOG.warning("token file %s cannot be read (%s); keeping the last token", self._path, error.strerror)
            return
        if token != self._current.token:
            self._current = Identity(self._current.tls, token)


def _token_in(path: Path) -> str:
    return path.read_text("ascii", "replace").strip()
