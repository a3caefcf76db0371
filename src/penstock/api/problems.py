"""What is wrong with an object: a value that prints as a sentence, for people, conditions and programs alike."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

_LONGEST = 80

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

    @classmethod
    def of(cls, path: Path, sentence: str) -> Problem:
        """A problem from one sentence, `what is wrong; how to mend it`, as rules and Slurm's language tell it."""
        message, _, mend = sentence.rpartition("; ")
        return cls(path=path, message=message or mend, mend=mend if message else "")

    def __str__(self) -> str:
        where = f"{dotted(self.path)}: " if self.path else ""
        return f"{where}{self.message}" + (f"; {self.mend}" if self.mend else "")


def dotted(path: Path) -> str:
    """A path as people write it: `spec.volumeClaimTemplates[0].metadata`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def quoted(text: str) -> str:
    """A text somebody wrote, fit for a line of a report: nothing in it breaks the line, and it is not endless."""
    return f'"{printable(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")}"'


def printable(text: str) -> str:
    """The text on one line: what is no character to look at is spelt out."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def errors(problems: list[Problem]) -> list[Problem]:
    """Only those that keep the object from being used."""
    return [problem for problem in problems if problem.severity is Severity.ERROR]
