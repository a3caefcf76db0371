"""Reading the files that a command line names: into documents, kinds, and what they refer to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path as FilePath
from typing import Any

from penstock.api import manifest, values
from penstock.api.bombs import ManifestError
from penstock.api.crosscheck import crosscheck
from penstock.api.kinds import API_VERSION, BY_NAME, Kind
from penstock.api.manifest import Document
from penstock.api.objects import Json
from penstock.api.problems import Problem, Severity, quoted
from penstock.api.validation import belongs_to_us, examine
from penstock.cli import references
from penstock.cli.findings import Finding, Origin

_SUFFIXES = (".yaml", ".yml", ".json")


class UnreadableSource(Exception):
    """A file that cannot be read; the message says why and what to do."""


@dataclass(slots=True)
class Manifests:
    """All that a set of files holds."""

    files: int = 0
    kinds: list[Kind] = field(default_factory=list)
    others: int = 0
    config_maps: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    secrets: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=dict)
    unusable: set[tuple[str, str]] = field(default_factory=set)
    """Namespaces and names of objects of ours that have errors."""
    findings: list[Finding] = field(default_factory=list)

    @property
    def errors(self) -> list[Finding]:
        """Findings that keep the manifests from being used."""
        return [finding for finding in self.findings if finding.problem.severity is Severity.ERROR]

    @property
    def warnings(self) -> list[Finding]:
        """Findings that do not."""
        return [finding for finding in self.findings if finding.problem.severity is Severity.WARNING]


@dataclass(slots=True, kw_only=True)
class Options:
    """What the command line says about reading."""

    namespace: str = "default"
    release: str = "slurm"


def sample() -> tuple[str, str]:
    """The sample cluster that comes with the package: a name and its text."""
    return "sample", resources.files("penstock.samples").joinpath("cluster.yaml").read_text("utf-8")


def texts(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names and texts of files; a directory gives all its manifests, `-` the standard input."""
    for path in paths:
        if path == "-":
            yield "standard input", _decoded("standard input", sys.stdin.buffer.read())
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
        return _decoded(str(file), file.read_bytes())
    except OSError as problem:
        raise UnreadableSource(f"{file}: {problem.strerror}; check the name and its permissions") from problem


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise UnreadableSource(f"{name}:{line}: is not text in UTF-8; save it as UTF-8") from problem


def load(sources: Iterable[tuple[str, str]], options: Options) -> Manifests:
    """Read, decode and check everything, also how objects fit together."""
    loaded, origins, order = Manifests(), dict[int, Origin](), dict[str, int]()
    for name, text in sources:
        loaded.files += 1
        order.setdefault(name, loaded.files)
        for origin, value in _objects(name, text, options, loaded):
            kind = _take(origin, value, loaded)
            if kind is not None:
                origins[id(kind)] = origin
    loaded.findings += _between(loaded, origins)
    loaded.findings.sort(key=lambda finding: (order[finding.file], finding.line))
    if not loaded.findings and not (loaded.kinds or loaded.others or loaded.config_maps or loaded.secrets):
        raise UnreadableSource("there is no object in what you named; name a manifest, or a directory of manifests")
    return loaded


def _between(loaded: Manifests, origins: Mapping[int, Origin]) -> Iterator[Finding]:
    for kind, problem in crosscheck(loaded.kinds, loaded.config_maps, loaded.unusable):
        yield origins[id(kind)].finding(f'{kind.kind} "{kind.metadata.name}"', problem)


def _objects(name: str, text: str, options: Options, loaded: Manifests) -> Iterator[tuple[Origin, Any]]:
    """Objects of a file, or what stands where one should."""
    for document in manifest.read(text, name):
        if isinstance(document, ManifestError):
            problem = Problem(path=(), message=str(document), mend=document.mend)
            loaded.findings.append(Finding(file=name, line=document.line, object="", problem=problem))
            continue
        whole = Origin(document=document)
        for path in document.duplicates:
            twice = Problem(path=path, message="is written twice; only the last would count", mend="take one out")
            loaded.findings.append(whole.finding("", twice))
        yield from _of_values(document, options) if values.is_values(document.value) else _listed(whole, options)


def _of_values(document: Document, options: Options) -> Iterator[tuple[Origin, Json]]:
    made = values.node_sets(document.value, release=options.release, namespace=options.namespace)
    yield from ((Origin(document=document, at=path, from_values=True), one) for path, one in made)


def _listed(whole: Origin, options: Options) -> Iterator[tuple[Origin, Any]]:
    """The object, or the objects of a List, each with its namespace."""
    value = whole.document.value
    items = value.get("items") if str(value.get("kind", "")).endswith("List") else None
    if not isinstance(items, list):
        yield whole, _in_namespace(value, options.namespace)
        return
    for index, one in enumerate(items):
        yield Origin(document=whole.document, at=("items", index)), _in_namespace(one, options.namespace)


def _in_namespace(value: Any, namespace: str) -> Any:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict):
        return value
    return value | {"metadata": metadata | {"namespace": metadata.get("namespace") or namespace}}


def _take(origin: Origin, value: Any, loaded: Manifests) -> Kind | None:
    if not isinstance(value, dict) or not belongs_to_us(value):
        loaded.findings += [origin.finding(_title(value), problem) for problem in _take_other(value, loaded)]
        return None
    verdict = examine(value)
    loaded.findings += [origin.finding(_title(value), problem) for problem in verdict.problems]
    if verdict.kind is not None:
        loaded.kinds.append(verdict.kind)
    elif isinstance(value.get("metadata"), dict):
        loaded.unusable.add((str(value["metadata"]["namespace"]), str(value["metadata"].get("name"))))
    return verdict.kind


def _title(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{value.get('kind')} {quoted(str(name))}" if name else str(value.get("kind") or "")


def _take_other(value: Any, loaded: Manifests) -> Iterator[Problem]:
    """An object of another group: a ConfigMap or Secret is kept, since kinds refer to it."""
    if not isinstance(value, dict) or not value.get("kind") or not value.get("apiVersion"):
        yield Problem(path=(), message="is not a Kubernetes object", mend="give it apiVersion and kind")
        return
    if value["kind"] in ("ConfigMap", "Secret"):
        yield from _take_reference(value, loaded)
        return
    loaded.others += 1
    version = str(value["apiVersion"])
    if str(value["kind"]) in BY_NAME and ("slurm" in version or "slinky" in version):
        message = f"is {quoted(version)}, so this {value['kind']} is not looked at"
        yield Problem(path=("apiVersion",), message=message, mend=f"write {API_VERSION}", severity=Severity.WARNING)


def _take_reference(value: Json, loaded: Manifests) -> Iterator[Problem]:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        yield Problem(path=("metadata", "name"), message="is missing", mend="add name")
        return
    key, problems = (str(metadata["namespace"]), metadata["name"]), list[Problem]()
    if key in (loaded.config_maps if value["kind"] == "ConfigMap" else loaded.secrets):
        yield Problem(path=("metadata", "name"), message="is defined twice", mend="keep one")
    if value["kind"] == "ConfigMap":
        loaded.config_maps[key] = references.config_map(value, problems)
    else:
        loaded.secrets[key] = references.secret(value, problems)
    yield from problems
