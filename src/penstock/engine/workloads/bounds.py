"""Counts and shares of pods: `2` or `25%`, rounded up or down as Kubernetes rounds them."""

from __future__ import annotations

from penstock.api.scalars import IntOrPercent


def share(asked: int | str, whole: int, *, up: bool) -> int:
    """What a count or a percentage means for so many pods."""
    value = IntOrPercent.parse(asked).value
    if isinstance(value, int):
        return value
    percent = int(value[:-1])
    return -(-whole * percent // 100) if up else whole * percent // 100


def fenceposts(max_surge: int | str, max_unavailable: int | str, wanted: int) -> tuple[int, int]:
    """How many pods more, and how many fewer than wanted a rollout may have; never neither, or nothing would move."""
    surge, unavailable = share(max_surge, wanted, up=True), share(max_unavailable, wanted, up=False)
    return (0, 1) if surge <= 0 and unavailable <= 0 else (surge, unavailable)
