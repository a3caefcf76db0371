"""SSH host keys: an RSA, an ECDSA and an Ed25519 pair, as ssh-keygen would make them; made once and then only kept.

People's known_hosts complain of another one, so they outlive pods, and workers of a set have the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet
from penstock.cluster.errors import AlreadyExists
from penstock.operator.context import Context
from penstock.operator.resources import CUSTOMS, SECRETS, Custom
from penstock.render import labels, names
from penstock.render.services import secret

_RSA_BITS = 3072
"""ssh-keygen's own choice."""


async def host_keys(context: Context, item: Custom, owner: LoginSet | NodeSet, *, app: str) -> Mapping[str, bytes]:
    """The host keys there are; made when there are none. Who lost the race takes the winner's."""
    namespace, name = owner.metadata.namespace, names.ssh_host_keys(owner)
    found = await context.contents.secret(namespace, name)
    if found is not None:
        return found
    made = await asyncio.to_thread(make_host_keys)
    metadata = labels.metadata(name, owner, labels=labels.component(app, owner))
    try:
        await context.cluster.create(SECRETS, secret(metadata, made, immutable=True))
    except AlreadyExists:
        return await context.contents.fetch_secret(namespace, name)
    context.events.normal(CUSTOMS[owner.kind], item, "HostKeysMade", f"Secret {name}: they stay the same from now on")
    return made


def make_host_keys() -> dict[str, bytes]:
    """New pairs by the names of their files. Takes a second of CPU for the RSA key: call it in a thread."""
    # Loaded once in a cluster's life, and by nobody else.
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
