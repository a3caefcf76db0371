"""The small values that Kubernetes writes as text: quantities, durations, percentages.

Each is parsed once, at the door, into a type that carries both the number to reckon with and the text the
person wrote, so that what we write back is what they said. Inside the house nobody parses again.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Any

from penstock.api import patterns

_NUMBER = re.compile(r"[+-]?[0-9.]+")
_SUFFIXES = {
    "": Decimal(1),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(("n", "u", "m", "", *"kMGTPE"), -3)},
    **{suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_LONGEST = 2**63 - 1  # nanoseconds, about 292 years: what Go, and so the API server, can hold


class ScalarError(ValueError):
    """A text that is not the value it should be; the message says what to write instead."""


class _Written:
    """A value with the text it was written as; two are equal when their values are.

    Not a dataclass: msgspec would take one for a JSON object and never ask `decode_scalar`.
    """

    __slots__ = ("text", "value")
    value: Any

    def __init__(self, value: object, text: str) -> None:
        self.value = value
        self.text = text

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and bool(other.value == self.value)

    def __hash__(self) -> int:
        return hash((type(self), self.value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text})"


class Quantity(_Written):
    """An amount of CPU, memory or storage: `2`, `500m`, `100Gi`."""

    __slots__ = ()
    value: Decimal

    @classmethod
    def parse(cls, value: str | float) -> Quantity:
        """Read a quantity as the Kubernetes API does."""
        text = str(value)
        number = _NUMBER.match(text)
        if number is None or not re.fullmatch(patterns.QUANTITY, text):
            raise ScalarError(f'"{text}" is not a quantity; {patterns.HINTS[patterns.QUANTITY]}')
        suffix = text[number.end() :]
        scale = _SUFFIXES[suffix] if suffix in _SUFFIXES else Decimal(10) ** int(suffix[1:])
        return cls(Decimal(number[0]) * scale, text)

    @property
    def mebibytes(self) -> int:
        """Whole MiB, rounded down: a Slurm node must not promise memory its pod does not have."""
        return int(self.value / (1024 * 1024))

    @property
    def whole(self) -> int:
        """Whole units, rounded up: half a CPU still runs one task."""
        return int(self.value.to_integral_value(ROUND_CEILING))


class Duration(_Written):
    """A span of time as Go writes it: `90s`, `30m`, `1h30m`."""

    __slots__ = ()
    value: timedelta

    @classmethod
    def parse(cls, value: str) -> Duration:
        """Read a Go duration; a bare number other than zero has no unit and is refused."""
        if not re.fullmatch(patterns.DURATION, value):
            raise ScalarError(f'"{value}" is not a duration; {patterns.HINTS[patterns.DURATION]}')
        parts = _DURATION_PART.finditer(value)
        nanoseconds = sum(int(Decimal(part[1]) * _NANOSECONDS[part[2]]) for part in parts)
        if nanoseconds > _LONGEST:
            raise ScalarError(f'"{value}" is longer than 292 years; write for instance 30m or 24h')
        # Rounded down, never up: 59.9999999s is not yet a minute.
        return cls(timedelta(microseconds=nanoseconds // 1000), value)

    @property
    def seconds(self) -> float:
        """The span in seconds."""
        return self.value.total_seconds()


class IntOrPercent(_Written):
    """A count, or a share of a whole: `2` or `25%`."""

    __slots__ = ()
    value: int | str

    @classmethod
    def parse(cls, value: str | int) -> IntOrPercent:
        """Read what Kubernetes calls an int-or-string."""
        if isinstance(value, int):
            return cls(value, str(value))
        if not re.fullmatch(patterns.PERCENT, value):
            raise ScalarError(f'"{value}" is neither a count nor a percentage; {patterns.HINTS[patterns.PERCENT]}')
        return cls(f"{int(value[:-1])}%", value)

    def of(self, whole: int) -> int:
        """The count this means for `whole` things, rounded up as Slinky rounds, so that 25% of 3 may proceed."""
        if isinstance(self.value, int):
            return self.value
        return -(-whole * int(self.value[:-1]) // 100)


def decode_scalar(wanted: type, value: object) -> object:
    """`dec_hook` for msgspec: text and numbers become the types above."""
    if wanted is Duration and isinstance(value, str):
        return Duration.parse(value)
    if wanted is Quantity and isinstance(value, str | int | float) and not isinstance(value, bool):
        return Quantity.parse(value)
    if wanted is IntOrPercent and isinstance(value, str | int) and not isinstance(value, bool):
        return IntOrPercent.parse(value)
    raise ScalarError(f"expected {EXPECTED[wanted]}")


def encode_scalar(value: object) -> object:
    """`enc_hook` for msgspec: the types above become the text the person wrote."""
    if isinstance(value, Quantity | Duration):
        return value.text
    if isinstance(value, IntOrPercent):
        return value.value
    raise NotImplementedError(type(value))  # msgspec's word for "not mine"; it makes the TypeError people see


EXPECTED: dict[type, str] = {
    Quantity: "a quantity such as 500m or 100Gi",
    Duration: "a duration such as 30m",
    IntOrPercent: "a count or a percentage such as 1 or 25%",
}
"""What a person is told when a value is not of the type at all."""
