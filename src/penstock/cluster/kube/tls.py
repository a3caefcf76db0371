"""Whom we trust, and the certificate we show.

Keys reach OpenSSL through anonymous memory: it wants file names, and a key on a disk outlives the process.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate with its private key, both as PEM."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """By which authorities the server proves who it is."""

    authorities: str = field(default="", repr=False)
    """PEM; empty: those of the system."""
    verify: bool = True
    """False only where a kubeconfig says so in as many words."""

    def context(self, pair: KeyPair | None = None) -> ssl.SSLContext:
        """A TLS context that trusts so, and shows `pair` when asked."""
        context = ssl.create_default_context(cadata=self.authorities or None)
        # Python 3.13 made this the default; authorities of many running clusters lack the key identifiers it wants.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if pair is not None:
            show(context, pair)
        return context


def show(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Let a context, of either side, show a certificate."""
    memory = os.memfd_create("key-pair", os.MFD_CLOEXEC)
    try:
        os.write(memory, pair.certificate.rstrip() + b"\n" + pair.key)
        # A password, though empty, keeps OpenSSL from asking the terminal for that of an encrypted key.
        context.load_cert_chain(f"/proc/self/fd/{memory}", password="")
    finally:
        os.close(memory)
