"""A certificate authority of a test, and a server's and a person's certificates by it."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_NOW = dt.datetime.now(dt.UTC)


@dataclass(frozen=True)
class Certificate:
    """PEM of a certificate and of its key."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs what it is asked to."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        builder = _begun(name, name, self._key).add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        self._signed = builder.sign(self._key, hashes.SHA256())
        self.pem = self._signed.public_bytes(serialization.Encoding.PEM)

    def certify(self, name: str, *alternatives: x509.GeneralName) -> Certificate:
        """A certificate for somebody."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _begun(subject, self._signed.subject, key)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), False)
        signed = builder.sign(self._key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Certificate(signed.public_bytes(serialization.Encoding.PEM), private)

    def server(self, directory: Path, *, name: str = "", people: bool = False) -> ssl.SSLContext:
        """TLS of a server on loopback, or with another name; `people`: they must show a certificate of ours."""
        who = x509.DNSName(name) if name else x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        made = self.certify("server", who)
        path = directory / "server.pem"
        path.write_bytes(made.certificate + made.key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=self.pem.decode())
        context.load_cert_chain(path)
        context.verify_mode = ssl.CERT_REQUIRED if people else ssl.CERT_NONE
        return context


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOW - dt.timedelta(hours=1))
        .not_valid_after(_NOW + dt.timedelta(hours=1))
    )
