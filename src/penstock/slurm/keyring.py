"""slurm.jwks: several auth/slurm keys at once, so that a key can be exchanged while jobs run.

Slurm signs with the default key and names it in each message (`kid`); it verifies with whichever key of its ring is
named. A message without a name, from a daemon that has only slurm.key, is taken for one of the default key. So the
order of a rotation is, each step in all daemons before the next, with a reconfigure after each:

    [old]  ->  [old, new] signing with old  ->  [old, new] signing with new  ->  [new]

Tried with jobs running on 26.05 and 24.11. A daemon reads a changed slurm.jwks when it is reconfigured; one that
started configless with slurm.key never looks for slurm.jwks, so a ring of one key is the way to start.
"""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

MIN_KEY_BYTES = 16
"""Below this Slurm itself refuses: "key lacks sufficient entropy"."""


class KeyringError(ValueError):
    """These keys make no ring: correct them. The message never holds a key."""


@dataclass(frozen=True, slots=True)
class Key:
    """The bytes of a slurm.key."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) < MIN_KEY_BYTES:
            raise KeyringError(f"a key of {len(self.secret)} bytes is too short; take 1024 bytes of /dev/urandom")

    @property
    def kid(self) -> str:
        """Its name in messages, which anybody on the network can read: a digest, that says nothing of the key."""
        return hashlib.sha256(b"penstock auth/slurm kid\0" + self.secret).hexdigest()[:16]


def keyring(signing: Key, others: Iterable[Key] = ()) -> str:
    """Write slurm.jwks: the key that signs, and others that are believed.

    Sorted by kid and without doubles, so that the same keys give the same bytes wherever they were listed.
    """
    keys = {key.kid: key for key in (signing, *others)}
    entries = [_entry(key, default=key.kid == signing.kid) for _, key in sorted(keys.items())]
    return msgspec.json.encode({"keys": entries}).decode() + "\n"


def _entry(key: Key, *, default: bool) -> dict[str, str]:
    # Plain base64, with padding: so written, a ring is understood by daemons that hold the same bytes as slurm.key.
    encoded = base64.b64encode(key.secret).decode()
    entry = {"kty": "oct", "alg": "HS256", "kid": key.kid, "k": encoded}
    return entry | ({"use": "default"} if default else {})
