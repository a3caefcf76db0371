"""How long ago something was, as kubectl writes it: `5s`, `3m12s`, `2d3h`.

The steps are those of apimachinery's `duration.HumanDuration`: people compare our tables with kubectl's.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
_STEPS = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""Below so many seconds: a unit with its letter, and a smaller one to tell the rest in."""
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def span(seconds: float) -> str:
    """A length of time."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"  # from the future: the clocks of two machines differ by more than kubectl forgives
    whole = max(whole, 0)
    for below, unit, letter, smaller, small_letter in _STEPS:
        if whole < below:
            rest = whole % unit // smaller if smaller else 0
            return f"{whole // unit}{letter}" + (f"{rest}{small_letter}" if rest else "")
    return f"{whole // _YEAR}y"


def age(timestamp: object, now: datetime) -> str:
    """How long ago a Kubernetes timestamp was; `<unknown>` when there is none."""
    when = moment(timestamp)
    return "<unknown>" if when is None else span((now - when).total_seconds())


def moment(timestamp: object) -> datetime | None:
    """A Kubernetes timestamp as a time; None for what is none."""
    if not isinstance(timestamp, str) or not timestamp:
        return None
    try:
        parsed = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def seconds_of(text: str) -> float:
    """The seconds of a length as Go writes it: `90s`, `1h30m`, `500ms`, or a bare number; ValueError for others."""
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text)
    parts = _SPAN.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is no length of time; write for instance 90s, 5m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
