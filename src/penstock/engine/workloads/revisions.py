"""Short names for templates: the same template has the same name, whoever asks and whenever."""

from __future__ import annotations

import hashlib

import msgspec

from penstock.api.objects import Json

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Kubernetes' letters for made-up names: no vowels, so no words, and nothing that looks like something else."""


def letters(text: bytes, count: int) -> str:
    """So many letters that stand for a text."""
    number = int.from_bytes(hashlib.sha256(text).digest())
    found = ""
    for _ in range(count):
        number, letter = divmod(number, len(_ALPHABET))
        found += _ALPHABET[letter]
    return found


def template_hash(template: Json, collisions: int = 0) -> str:
    """A name for a template; `collisions` makes it another one, when somebody else has taken that."""
    tail = str(collisions).encode() if collisions else b""
    return letters(msgspec.json.encode(template, order="sorted") + tail, 10)
