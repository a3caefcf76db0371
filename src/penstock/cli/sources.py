"""Reading the files that a command line names: into documents, kinds, and what they refer to."""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path as FilePath

from penstock.api import manifest, values
from penstock.api.crosscheck import crosscheck
from penstock.api.kinds import Kind
from penstock.api.manifest import Document
from penstock.api.objects import Json
from penstock.api.problems import Path, Problem, Severity, dotted
from penstock.api.validation import belongs_to_us, examine

_SUFFIXES = (".yaml", ".yml", ".json")


class UnreadableSource(Exception):
    """A file that cannot be read; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem with the place it stands at."""

    file: str
    line: int
    object: str
    problem: Problem

    def __str__(self) -> str:
        subject = f"{self.object}: " if self.object else ""
        return f"{self.file}:{self.line}: {self.problem.severity.value}: {subject}{self.problem}"

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


@dataclass(slots=True)
class Manifests:
    """All that a set of files holds."""

    files: int = 0
    kinds: list[Kind] = field(default_factory=list)
    others: int = 0
    config_maps: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    secrets: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def errors(self) -> list[Finding]:
        """Findings that keep the manifests from being used."""
        return [finding for finding in self.findings if finding.problem.severity is Severity.ERROR]


@dataclass(slots=True, kw_only=True)
class Options:
    """What the command line says about reading."""

    namespace: str = "default"
    release: str = "slurm"


def sample() -> tuple[str, str]:
    """The sample cluster that comes with the package: a name and its text."""
    return "sample", resources.files("penstock.samples").joinpath("cluster.yaml").read_text()


def texts(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names and texts of files; a directory gives all its manifests, `-` the standard input."""
    for path in paths:
        if path == "-":
            yield "standard input", sys.stdin.read()
        else:
            for file in _expanded(FilePath(path)):
                yield str(file), _read(file)


def _expanded(path: FilePath) -> list[FilePath]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    if not found:
        raise UnreadableSource(f"{path}: no manifests in this directory; name one with .yaml, .yml or .json files")
    return found


def _read(file: FilePath) -> str:
    try:
        return file.read_text()
    except OSError as problem:
        raise UnreadableSource(f"{file}: {problem.strerror}; check the name and its permissions") from problem
    except UnicodeDecodeError as problem:
        raise UnreadableSource(f"{file}: is not text in UTF-8; save it as UTF-8") from problem


def load(sources: Iterable[tuple[str, str]], options: Options) -> Manifests:
    """Read, decode and check everything, also how objects fit together."""
    loaded, places = Manifests(), {}
    for name, text in sources:
        loaded.files += 1
        for document, prefix, value in _objects(name, text, options, loaded):
            kind = _take(document, prefix, value, loaded)
            if kind is not None:
                places[id(kind)] = (document, prefix)
    for kind, problem in crosscheck(loaded.kinds, loaded.config_maps):
        document, prefix = places[id(kind)]
        loaded.findings.append(_finding(document, prefix, _title(kind), problem))
    return loaded


def _objects(name: str, text: str, options: Options, loaded: Manifests) -> Iterator[tuple[Document, Path, Json]]:
    """Objects of a file with the place in it that their paths begin at."""
    try:
        documents = manifest.read(text, name)
    except manifest.ManifestError as problem:
        loaded.findings.append(
            Finding(file=name, line=problem.line, object="", problem=Problem(path=(), message=str(problem)))
        )
        return
    for document in documents:
        for path in document.duplicates:
            twice = Problem(path=path, message="is written twice; only the last would count", mend="take one out")
            loaded.findings.append(_finding(document, (), "", twice))
        if values.is_values(document.value):
            yield from (
                (document, path, one)
                for path, one in values.node_sets(document.value, release=options.release, namespace=options.namespace)
            )
        else:
            yield from ((document, (), one) for one in _listed(document.value, options))


def _listed(value: Json, options: Options) -> Iterator[Json]:
    """The object, or the objects of a List, each with its namespace."""
    items = value.get("items") if str(value.get("kind", "")).endswith("List") else None
    for one in items if isinstance(items, list) else [value]:
        metadata = one.get("metadata")
        yield one | {"metadata": {"namespace": options.namespace} | metadata} if isinstance(metadata, dict) else one


def _take(document: Document, prefix: Path, value: Json, loaded: Manifests) -> Kind | None:
    if not belongs_to_us(value):
        _take_reference(document, value, loaded)
        return None
    verdict = examine(value)
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    title = f'{value.get("kind")} "{name}"' if name else str(value.get("kind") or "")
    loaded.findings += [_finding(document, prefix, title, problem) for problem in verdict.problems]
    if verdict.kind is not None:
        loaded.kinds.append(verdict.kind)
    return verdict.kind


def _take_reference(document: Document, value: Json, loaded: Manifests) -> None:
    metadata = value.get("metadata") or {}
    key = (str(metadata.get("namespace")), str(metadata.get("name")))
    if value.get("kind") == "ConfigMap":
        loaded.config_maps[key] = {str(name): str(text) for name, text in (value.get("data") or {}).items()}
    elif value.get("kind") == "Secret":
        try:
            loaded.secrets[key] = _secret_data(value)
        except (binascii.Error, ValueError):
            bad = Problem(path=("data",), message="is not base64", mend="encode it, or write stringData")
            loaded.findings.append(_finding(document, (), f'Secret "{key[1]}"', bad))
    elif "kind" not in value or "apiVersion" not in value:
        stray = Problem(path=(), message="is not a Kubernetes object", mend="give it apiVersion and kind")
        loaded.findings.append(_finding(document, (), "", stray))
    else:
        loaded.others += 1


def _secret_data(value: Json) -> dict[str, bytes]:
    encoded = {name: base64.b64decode(text, validate=True) for name, text in (value.get("data") or {}).items()}
    return encoded | {name: str(text).encode() for name, text in (value.get("stringData") or {}).items()}


def _finding(document: Document, prefix: Path, title: str, problem: Problem) -> Finding:
    # Paths inside chart values differ from those of the NodeSet made of them: the entry's own line must do.
    line = document.line_of(prefix) if prefix else document.line_of(problem.path)
    return Finding(file=document.source, line=line, object=title, problem=problem)


def _title(kind: Kind) -> str:
    return f'{kind.kind} "{kind.metadata.name}"'
