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
    place = private(layout)
    public = place.with_suffix(".pub")
    if not _is_newer(public, place):
        _make(place)
    return f"{public.read_text().strip()} penstock-{layout.cluster}"


def _is_newer(one: Path, other: Path) -> bool:
    try:
        return one.stat().st_mtime_ns >= other.stat().st_mtime_ns
    except FileNotFoundError:
        return False


def _make(place: Path) -> None:
    """Make a key, if there is none, and beside it its public half, which takes long to reckon again."""
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = Ed25519PrivateKey.generate()
        secret = fresh.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
        draft = place.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_bytes(secret)
        draft.replace(place)
    key = form.load_ssh_private_key(place.read_bytes(), None)
    draft = place.with_suffix(".pub.new")
    draft.write_bytes(key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH) + b"\n")
    draft.replace(place.with_suffix(".pub"))
