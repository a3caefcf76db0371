"""Who may log in: the person who runs `penstock up`, with the keys that are there, or with one made here."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.engine.layout import Layout


def private(layout: Layout) -> Path:
    """The key of a cluster's login node, for `ssh -i`."""
    return layout.state / "ssh" / "id_ed25519"


def authorized(layout: Layout) -> list[str]:
    """Public keys that may log in as root: the cluster's own, and those of who runs this."""
    home = Path(os.environ.get("HOME") or "/root")
    own = [path.read_text().strip() for path in sorted((home / ".ssh").glob("id_*.pub"))]
    return [_made(layout), *own]


def _made(layout: Layout) -> str:
    """The cluster's own public key, made once."""
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    place = private(layout)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = Ed25519PrivateKey.generate()
        secret = fresh.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
        draft = place.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_bytes(secret)
        draft.replace(place)
    key = form.load_ssh_private_key(place.read_bytes(), None)
    public = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    return f"{public.decode()} penstock-{layout.cluster}"
