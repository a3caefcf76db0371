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
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

FILE = "slurm.jwks"
"""The name by which Slurm finds a ring."""
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


@dataclass(frozen=True, slots=True)
class Ring:
    """The key that signs, and others that are believed."""

    signing: Key
    others: frozenset[Key] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "others", self.others - {self.signing})

    @property
    def keys(self) -> frozenset[Key]:
        """All that are believed."""
        return self.others | {self.signing}

    def understands(self, other: "Ring") -> bool:
        """Whether a daemon with this ring believes one with the other."""
        return other.signing in self.keys


def next_ring(ring: Ring | None, wanted: Key) -> Ring:
    """The next step towards a ring of the wanted key alone, from whatever ring everybody has; at the end, the same.

    Whoever has a ring and whoever has the next one understand each other. So it does not matter who takes a step first,
    only that all have taken it before the next. A change of mind in the middle is one more step and no other road.
    """
    if ring is None:
        return Ring(wanted)
    if wanted not in ring.keys:
        return Ring(ring.signing, frozenset({wanted}))
    if wanted != ring.signing:
        return Ring(wanted, ring.keys)
    return Ring(wanted)


class _Entry(msgspec.Struct, omit_defaults=True):
    kty: str
    alg: str
    kid: str
    k: str
    use: str = ""


class _File(msgspec.Struct, omit_defaults=True):
    keys: list[_Entry]
    written: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """A ring as it stands in a file, and since when it does."""

    ring: Ring
    at: datetime

    def text(self) -> str:
        """Write slurm.jwks. Slurm overlooks the time; with it the same ring, written again, is news to its readers.

        Sorted by kid, so that the same keys give the same bytes wherever they were listed.
        """
        entries = [_entry(key, default=key == self.ring.signing) for key in sorted(self.ring.keys, key=lambda k: k.kid)]
        return msgspec.json.encode(_File(entries, self.at.isoformat(timespec="seconds"))).decode() + "\n"

    @classmethod
    def read(cls, text: bytes) -> "Written":
        """Read what `text` wrote."""
        try:
            found = msgspec.json.decode(text, type=_File)
            keys = {entry.kid: Key(base64.b64decode(entry.k, validate=True)) for entry in found.keys}
            (signing,) = [entry.kid for entry in found.keys if entry.use == "default"]
            return cls(
                Ring(keys[signing], frozenset(keys.values())), datetime.fromisoformat(found.written).astimezone(UTC)
            )
        except ValueError:
            # Decoders quote what they could not read, which here is a secret.
            raise KeyringError("this is no slurm.jwks of ours") from None


def _entry(key: Key, *, default: bool) -> _Entry:
    # Plain base64, with padding: so written, a ring is understood by daemons that hold the same bytes as slurm.key.
    encoded = base64.b64encode(key.secret).decode()
    return _Entry("oct", "HS256", key.kid, encoded, "default" if default else "")
