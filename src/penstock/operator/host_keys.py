"""SSH host keys: an RSA, an ECDSA and an Ed25519 pair, as ssh-keygen would make them."""

from __future__ import annotations

_RSA_BITS = 3072
"""ssh-keygen's own choice."""


def make_host_keys() -> dict[str, bytes]:
    """New pairs by the names of their files. Takes a second of CPU for the RSA key: call it in a thread."""
    # Loaded by the first login set of a cluster's life, and by nobody else.
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    made: dict[str, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey] = {
        "rsa": rsa.generate_private_key(public_exponent=65537, key_size=_RSA_BITS),
        "ecdsa": ec.generate_private_key(ec.SECP256R1()),
        "ed25519": ed25519.Ed25519PrivateKey.generate(),
    }
    files: dict[str, bytes] = {}
    for kind, key in made.items():
        private = f"ssh_host_{kind}_key"
        files[private] = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        files[f"{private}.pub"] = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n"
    return files
