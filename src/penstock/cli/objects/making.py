"""Objects from options: `create namespace x`, `create configmap x --from-file=...`, `create secret generic ...`."""

from __future__ import annotations

import argparse
import base64
from collections.abc import Iterator
from pathlib import Path

from penstock.api.objects import Json
from penstock.cli.objects.complaint import Complaint, Misuse

_KNOWN = "namespace NAME, configmap NAME, secret generic NAME, or -f FILE"


def made(arguments: argparse.Namespace) -> Json:
    """The object that the words and options describe."""
    match arguments.words:
        case ["namespace" | "ns", name]:
            return _thing("Namespace", name)
        case ["configmap" | "cm", name]:
            return _thing("ConfigMap", name) | _config_map(arguments)
        case ["secret", "generic", name]:
            data = {key: base64.b64encode(value).decode() for key, value in _data(arguments)}
            return _thing("Secret", name) | {"type": arguments.type or "Opaque", "data": data}
        case ["serviceaccount" | "sa", name]:
            return _thing("ServiceAccount", name)
    raise Misuse(f"{' '.join(arguments.words)!r} cannot be made from options; write {_KNOWN}")


def _thing(kind: str, name: str) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


def _config_map(arguments: argparse.Namespace) -> Json:
    texts: dict[str, str] = {}
    binary: dict[str, str] = {}
    for key, value in _data(arguments):
        try:
            texts[key] = value.decode()
        except UnicodeDecodeError:
            binary[key] = base64.b64encode(value).decode()
    return {name: kept for name, kept in (("data", texts), ("binaryData", binary)) if kept}


def _data(arguments: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    for key, value in _parts(arguments):
        if key in seen:
            raise Misuse(f"{key} is given twice; take one out")
        seen.add(key)
        yield key, value


def _parts(arguments: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    for literal in arguments.from_literal:
        key, equals, value = literal.partition("=")
        if not (key and equals):
            raise Misuse(f"--from-literal {literal!r} is not KEY=VALUE")
        yield key, value.encode()
    for named in arguments.from_file:
        key, equals, path = named.partition("=") if "=" in named else ("", "=", named)
        yield from _of_path(key, Path(path))
    for path in arguments.from_env_file:
        yield from _of_environment(Path(path))


def _of_path(key: str, path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        if key:
            raise Misuse(f"{path} is a directory: its files have their own names; leave {key}= out")
        yield from ((file.name, _read(file)) for file in sorted(path.iterdir()) if file.is_file())
    else:
        yield key or path.name, _read(path)


def _of_environment(path: Path) -> Iterator[tuple[str, bytes]]:
    for line in _read(path).decode(errors="replace").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            key, _, value = line.lstrip().partition("=")
            yield key, value.encode()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise Complaint(f"{path}: {problem.strerror}; check the name and its permissions") from None
