"""What can go wrong with a cluster on one machine."""

from __future__ import annotations


class NotUp(Exception):
    """The cluster did not come up; the message says what it waits for."""


class Occupied(Exception):
    """Somebody looks after this cluster already."""
