"""Where an API server is, and how we make ourselves known to it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from penstock.cluster.errors import Misconfigured
from penstock.cluster.kube.identity import Credentials, Fixed, Identity

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """All that is needed to talk to one API server."""

    server: str
    """Base address, with a path where a gateway in front of the server wants one."""
    credentials: Credentials
    namespace: str = "default"
    """The namespace meant when none is said."""
    server_name: str | None = None
    """The name in the server's certificate, where it is not that of the address."""
    socket: Path | None = None
    """A socket in the file system to reach the server by, instead of the host that its address names."""

    def __post_init__(self) -> None:
        address = urlsplit(self.server)
        if address.scheme not in {"https", "http"} or not address.hostname or address.username or address.query:
            # Not shown: an address with a password in it is one of the ways to be wrong.
            raise Misconfigured("the server's address is not of the form https://host:port/path; correct it")
        if address.scheme == "http" and address.hostname not in _LOOPBACK:
            raise Misconfigured(f"http://{address.hostname} would carry secrets in the open; use https")


def local(socket: Path, *, namespace: str = "default") -> Connection:
    """The API of this machine: whoever may open the socket is known well enough."""
    # Nothing is encrypted on the way to our own kernel; a bare context, because loading authorities takes a while.
    nobody = Identity(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    return Connection(server="http://localhost", credentials=Fixed(nobody), namespace=namespace, socket=socket)
