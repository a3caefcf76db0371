"""Times as statuses write them."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(moment: datetime | None = None) -> str:
    """A time as Kubernetes writes it: this one, or now."""
    return (moment or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime:
    """A time as a status has it."""
    return datetime.fromisoformat(text)
