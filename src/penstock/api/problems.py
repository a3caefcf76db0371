"""What is wrong with an object: a value that prints as a sentence, for people, conditions and programs alike."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

Path = tuple[str | int, ...]
"""The way to a field: ("spec", "volumeClaimTemplates", 0, "metadata")."""


class Severity(Enum):
    """Whether the object can be used at all."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong: where, what, and how to mend it."""

    path: Path
    message: str
    mend: str = ""
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        where = f"{dotted(self.path)}: " if self.path else ""
        return f"{where}{self.message}" + (f"; {self.mend}" if self.mend else "")


def dotted(path: Path) -> str:
    """A path as people write it: `spec.volumeClaimTemplates[0].metadata`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def errors(problems: list[Problem]) -> list[Problem]:
    """Only those that keep the object from being used."""
    return [problem for problem in problems if problem.severity is Severity.ERROR]
