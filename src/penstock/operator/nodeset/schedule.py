"""When the maintenance window of a NodeSet is: `scheduledUpdate` in Slurm's terms. Pure.

A window that repeats does so by a flag of Slurm. Slurm moves its start ahead by itself, but takes none that is over; so
one that was written long ago begins at its next turn. Days are those of the zone in which the start was written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from penstock.api.nodeset import ScheduledUpdate

FORCED = "FORCE_START"
"""Has Slurm take a start that is past, if the window repeats and is not over. Ours to set: it refuses it elsewhere."""
_ALWAYS = ("MAINT", "IGNORE_JOBS")
"""A window for maintenance, over whatever jobs run there: they are not ended by it."""
_PERIODS = {
    "HOURLY": timedelta(hours=1),
    "DAILY": timedelta(days=1),
    "WEEKDAY": timedelta(days=1),
    "WEEKEND": timedelta(days=1),
    "WEEKLY": timedelta(weeks=1),
}
_DAYS = {"WEEKDAY": range(5), "WEEKEND": range(5, 7)}


def begins(wish: ScheduledUpdate, now: int) -> int:
    """When the window that counts begins: of one that repeats the first that is not over."""
    period, start, length = period_of(wish), start_of(wish), timedelta(minutes=minutes_of(wish))
    if not period:
        return math.floor(start.timestamp())
    moment = datetime.fromtimestamp(now, start.tzinfo)
    if start + length <= moment:
        start += ((moment - length - start) // period + 1) * period
    days = next((_DAYS[flag] for flag in flags_of(wish) if flag in _DAYS), range(7))
    while start.weekday() not in days:
        start += period
    return math.floor(start.timestamp())


def start_of(wish: ScheduledUpdate) -> datetime:
    """The start as it was written; without a zone it is UTC."""
    return wish.start_time if wish.start_time.tzinfo else wish.start_time.replace(tzinfo=UTC)


def minutes_of(wish: ScheduledUpdate) -> int:
    """How long it is; Slurm counts minutes."""
    return max(math.ceil(wish.duration.seconds / 60), 1)


def flags_of(wish: ScheduledUpdate) -> tuple[str, ...]:
    """The flags of its reservation."""
    given = (flag.strip().upper() for flag in wish.flags)
    return tuple(dict.fromkeys([*_ALWAYS, *(flag for flag in given if flag != FORCED)]))


def period_of(wish: ScheduledUpdate) -> timedelta | None:
    """How often it repeats; None: it does not."""
    return next((_PERIODS[flag] for flag in flags_of(wish) if flag in _PERIODS), None)


def repeats(flags: Iterable[str]) -> set[str]:
    """Those of some flags that make a reservation repeat."""
    return _PERIODS.keys() & set(flags)
