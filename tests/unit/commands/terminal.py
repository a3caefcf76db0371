"""A terminal for tests: run the command in a directory of files, see what it says."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.cli import main

NODE_SET = """\
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata:
  name: {name}
  namespace: slurm
spec:
  controllerRef:
    name: slurm
  replicas: {replicas}
"""


@dataclass(frozen=True)
class Said:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Terminal:
    """Runs commands where the files are."""

    directory: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def write(self, files: Mapping[str, str]) -> None:
        """Put files into the directory."""
        for name, text in files.items():
            (self.directory / name).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / name).write_text(text)

    def run(self, *words: str, stdin: bytes = b"") -> Said:
        """Run `penstock` with these words."""
        self.monkeypatch.chdir(self.directory)
        self.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self.capsys.readouterr()
        try:
            code = main(words)
        except SystemExit as end:  # argparse's way to end a call, for --help and for a wrong one
            code = int(end.code or 0)
        out, err = self.capsys.readouterr()
        return Said(code, out, err)


def objects(text: str) -> list[Any]:
    """The documents of YAML output, read by somebody else's reader."""
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def node_set(name: str = "gpu", replicas: object = 1) -> str:
    """A NodeSet's manifest of nine lines."""
    return NODE_SET.format(name=name, replicas=replicas)
