"""Times and memory as Slurm writes them.

Slurm reads "30" as minutes and "24h" not at all, so people who come from Kubernetes get it wrong in ways that can be
guessed; the errors here guess. What Slurm reads, we read, with two exceptions: slips such as "1-" and "-054", which
Slurm takes for minus 54 days, and numbers past its own counters, which it lets overflow without a word.
"""

import math
import re
from datetime import timedelta
from enum import Enum
from fractions import Fraction
from typing import Final, Literal


class Unlimited(Enum):
    """The time limit that is none."""

    UNLIMITED = "UNLIMITED"


UNLIMITED: Final = Unlimited.UNLIMITED
TimeLimit = timedelta | Literal[Unlimited.UNLIMITED]

# time_str2secs() of Slurm counts seconds in an int, and the top bit of its memory counters is a flag.
MAX_TIME: Final = timedelta(seconds=2**31 - 1)
MAX_MEMORY_MIB: Final = 2**63 - 1

_TIME = re.compile(r"(?:([0-9]+)-)?([0-9]+(?::[0-9]+){0,2})")
_SPOKEN_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)[\s,]*")
_SPOKEN_UNITS = {
    604800: "w week weeks",
    86400: "d day days",
    3600: "h hr hrs hour hours",
    60: "m min mins minute minutes",
    1: "s sec secs second seconds",
}
_SECONDS = {word: seconds for seconds, words in _SPOKEN_UNITS.items() for word in words.split()}

_MEMORY = re.compile(r"([0-9]+)(?:([KMGT])B?)?", re.IGNORECASE | re.ASCII)
_SPOKEN_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGTP])?I?B?", re.IGNORECASE | re.ASCII)
_MIB = {"K": Fraction(1, 1024), "M": Fraction(1), "G": Fraction(1024), "T": Fraction(1024**2), "P": Fraction(1024**3)}


class FormatError(ValueError):
    """The text is not what Slurm reads; the message names the field and says what to write instead."""


def parse_time(text: str, *, field: str = "time limit") -> TimeLimit:
    """Read 30 (minutes), 30:00, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS, INFINITE or UNLIMITED."""
    if text.lower() in ("infinite", "unlimited"):
        return UNLIMITED
    match = _TIME.fullmatch(text)
    if match is None:
        raise FormatError(f'{field} "{_clip(text)}" is not a Slurm time; {_time_advice(text)}')
    seconds = _seconds(match[1], match[2].split(":"))
    if seconds > MAX_TIME.total_seconds():
        raise FormatError(f'{field} "{_clip(text)}" is longer than the 68 years Slurm can count; write UNLIMITED')
    return timedelta(seconds=seconds)


def format_time(limit: TimeLimit) -> str:
    """Write a time as Slurm prints it: 00:30:00, 1-00:00:00, UNLIMITED. A part of a second counts as one."""
    if isinstance(limit, Unlimited):
        return "UNLIMITED"
    seconds = math.ceil(limit.total_seconds())
    if seconds < 0:
        raise FormatError(f"time limit {limit} is negative; a time limit starts at 0")
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def parse_memory(text: str, *, field: str = "memory") -> int:
    """Read a whole number with K, M, G or T, as MiB; without a letter it is MiB, and a part of one counts as one."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise FormatError(f'{field} "{_clip(text)}" is not a Slurm memory size; {_memory_advice(text)}')
    mebibytes = math.ceil(_count(match[1]) * _MIB[(match[2] or "M").upper()])
    if mebibytes > MAX_MEMORY_MIB:
        raise FormatError(f'{field} "{_clip(text)}" is more than Slurm can count; write a smaller size')
    return mebibytes


def format_memory(mebibytes: int) -> str:
    """Write a size with the largest letter that keeps it whole: 4G, 1536M, 2T."""
    if mebibytes < 0:
        raise FormatError(f"memory of {mebibytes} MiB is negative; a size starts at 0")
    for letter in "TG":
        size = int(_MIB[letter])
        if mebibytes and mebibytes % size == 0:
            return f"{mebibytes // size}{letter}"
    return f"{mebibytes}M"


def _seconds(days: str | None, clock: list[str]) -> int:
    # Behind days, or with three numbers, the first is hours; else it is minutes.
    units = (3600, 60, 1) if days is not None or len(clock) == 3 else (60, 1)
    seconds = sum(_count(number) * unit for number, unit in zip(clock, units, strict=False))
    return _count(days or "0") * 86400 + seconds


def _clip(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _count(digits: str) -> int:
    # Twenty digits are enough to be too large, and int() itself refuses thousands of them.
    return int(digits.lstrip("0")[:20] or "0")


def _time_advice(text: str) -> str:
    if text.strip() == "-1":
        return "write UNLIMITED"
    seconds = _spoken_seconds(text)
    if not seconds:
        return "write minutes as 30, hours as 02:00:00, days as 1-00:00:00, or UNLIMITED"
    meant = timedelta(seconds=seconds)
    canonical = f"{format_time(meant)} ({_said(seconds)})"
    if seconds >= 86400 and seconds % 3600 == 0 and "h" in text.lower():
        return f"write {seconds // 3600}:00:00 ({seconds // 3600} hours) or {canonical}"
    return f"write {canonical}"


def _spoken_seconds(text: str) -> int:
    """Guess the seconds of 24h, 1h30m, 2 days, 1.5 hours; 0 when it is nothing of that kind."""
    spoken = text.strip().lower()
    parts = _SPOKEN_PART.findall(spoken)
    if len(spoken) > 40 or _SPOKEN_PART.sub("", spoken) or not all(unit in _SECONDS for _, unit in parts):
        return 0
    seconds = math.ceil(sum(Fraction(number) * _SECONDS[unit] for number, unit in parts))
    return seconds if seconds <= MAX_TIME.total_seconds() else 0


def _said(seconds: int) -> str:
    amounts = [("day", seconds // 86400), ("hour", seconds // 3600 % 24), ("minute", seconds // 60 % 60)]
    amounts.append(("second", seconds % 60))
    return " ".join(f"one {unit}" if many == 1 else f"{many} {unit}s" for unit, many in amounts if many)


def _memory_advice(text: str) -> str:
    match = _SPOKEN_MEMORY.fullmatch(text.strip())
    if match is None or len(text) > 40:
        return "write a whole number with K, M, G or T, such as 4G"
    mebibytes = math.ceil(Fraction(match[1]) * _MIB[(match[2] or "M").upper()])
    return f"write {format_memory(mebibytes)}"
