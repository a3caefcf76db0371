"""Manifests that a command line names (`-f`): files, directories, standard input, into objects with their kinds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.api.objects import Json
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.fields import text
from penstock.cli.objects.selecting import label
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry
from penstock.cluster.errors import NotFound


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object that somebody wrote, ready to be sent."""

    entry: Entry
    body: Json
    origin: str
    """File and line, for messages."""

    @property
    def name(self) -> str:
        """Its name; empty when the server is to make one."""
        return text(self.body, "metadata", "name")

    @property
    def namespace(self) -> str:
        """Its namespace; empty for kinds of the whole cluster."""
        return text(self.body, "metadata", "namespace")

    @property
    def label(self) -> str:
        """What messages call it."""
        return label(self.entry, self.name)


async def read(session: Session, arguments: argparse.Namespace) -> list[Manifest]:
    """All objects of the files named; `Complaint` names file, line and what to do."""
    if arguments.kustomize:
        raise Misuse("-k is not known here: pipe what kustomize builds: kustomize build DIR | penstock ... -f -")
    if not arguments.filename:
        raise Misuse("name manifests with -f: a file, a directory, or - for standard input")
    found = [await manifest_of(session, *one) for one in written(arguments.filename)]
    if not found:
        raise Complaint(f"{', '.join(arguments.filename)}: there is no object in it; name a manifest")
    return found


def written(names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Objects, each with its place; the items of a List are objects of their own."""
    for name in names:
        if name.startswith(("http://", "https://")):
            raise Misuse(f"{name}: addresses are not fetched; read what you apply: curl -fLO {name}")
        if name != "-" and not Path(name).exists():
            raise Complaint(f"{name}: no such file; check the name")
    from penstock.cli.sources import UnreadableSource, texts  # noqa: PLC0415  (a third of the start of a `get`)

    try:
        for source, content in texts(names):
            yield from _documents(source, content)
    except UnreadableSource as problem:
        raise Complaint(str(problem)) from None


def _documents(source: str, content: str) -> Iterator[tuple[str, Any]]:
    from penstock.api import manifest  # noqa: PLC0415  (as above)
    from penstock.api.bombs import ManifestError  # noqa: PLC0415

    for document in manifest.read(content, source):
        if isinstance(document, ManifestError):
            raise Complaint(f"{source}:{document.line}: {document}; {document.mend}")
        for path in document.duplicates:
            raise Complaint(f"{source}:{document.line_of(path)}: {path[-1]} is written twice; take one out")
        items = document.value.get("items") if str(document.value.get("kind", "")).endswith("List") else None
        for position, one in enumerate(items if isinstance(items, list) else [document.value]):
            line = document.line_of(("items", position)) if isinstance(items, list) else document.line
            yield f"{source}:{line}", one


async def manifest_of(session: Session, origin: str, value: Any) -> Manifest:
    """An object with its kind and the namespace that is meant."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    kind, version = (value.get("kind"), value.get("apiVersion")) if isinstance(value, dict) else (None, None)
    if not (isinstance(kind, str) and isinstance(version, str)):
        raise Complaint(f"{origin}: is not a Kubernetes object; give it apiVersion and kind")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise Complaint(f"{origin}: {kind} has no metadata.name; give it one")
    try:
        entry = await session.kinds.of_manifest(version, kind)
    except NotFound as problem:
        raise Complaint(f"{origin}: {problem}") from None
    return Manifest(entry, value | {"metadata": _placed(session, entry, metadata, f"{origin}: {kind}")}, origin)


def _placed(session: Session, entry: Entry, metadata: Json, who: str) -> Json:
    """Metadata with the namespace that is meant."""
    said = metadata.get("namespace")
    if not entry.namespaced:
        return {key: value for key, value in metadata.items() if key != "namespace"}
    if said and session.said_namespace and said != session.namespace:
        raise Complaint(f'{who} "{metadata.get("name")}" is for namespace {said}, not {session.namespace}; drop -n')
    return metadata | {"namespace": said or session.namespace}
