"""What a command says about a file: a problem with the place it stands at."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.api import values
from penstock.api.manifest import Document
from penstock.api.objects import Json
from penstock.api.problems import Path, Problem, dotted, printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem with the place it stands at."""

    file: str
    line: int
    object: str
    problem: Problem

    def __str__(self) -> str:
        subject = f"{self.object}: " if self.object else ""
        return printable(f"{self.file}:{self.line}: {self.problem.severity.value}: {subject}{self.problem}")

    def as_json(self) -> Json:
        """The finding for programs; the names of its fields are stable."""
        problem = self.problem
        return {
            "file": self.file,
            "line": self.line,
            "object": self.object,
            "severity": problem.severity.value,
            "path": dotted(problem.path),
            "message": problem.message,
            "mend": problem.mend,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an object was read: a document, or a place in one, such as an item of a List or an entry of values."""

    document: Document
    at: Path = ()
    from_values: bool = False

    def finding(self, title: str, problem: Problem) -> Finding:
        """A problem of the object, at the line it stands on."""
        if self.from_values:
            problem = replace(problem, path=values.path_in_values(self.at, problem.path))
        line = self.document.line_of(problem.path if self.from_values else (*self.at, *problem.path))
        return Finding(file=self.document.source, line=line, object=title, problem=problem)
