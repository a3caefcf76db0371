"""A certificate for loopback, signed by itself and made anew at every start: nothing to keep, nothing to renew."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from penstock.cluster.kube.tls import KeyPair

_SLACK = timedelta(days=1)
"""Clocks are set back now and then."""
_LIFE = timedelta(days=3650)
"""Longer than any process lives."""


def self_signed(address: str) -> KeyPair:
    """A certificate for an address, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "penstock")])
    public = key.public_key()
    certificate = (
        x509.CertificateBuilder(name, name, public, x509.random_serial_number(), now - _SLACK, now + _LIFE)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, form, plain),
    )
