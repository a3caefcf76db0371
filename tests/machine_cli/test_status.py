"""`penstock status` of one machine, over its socket: what Slurm says is shown whole, and in plain words too."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.api.objects import Json
from penstock.cluster import catalogue
from penstock.engine.layout import Layout
from penstock.machine import process

from .machine import Machine

FIELDS = {
    "sinfo": [{"%N": "compute-0", "%T": "drained", "%C": "0/0/8/8", "%E": "disk | cable \x1b[2J"}],
    "squeue": [
        {"%i": "7", "%u": "ada", "%T": "PENDING", "%M": "0:00", "%R": "(Priority)", "%j": "a|b|"},
        {"%i": "8", "%u": "ada", "%T": "RUNNING", "%M": "0:01", "%R": "compute-0", "%j": "two\nlines"},
    ],
}
"""What Slurm's commands know here, by the letters that ask for it."""
COMMAND = """\
#!{python}
import sys
for fields in {fields!r}:
    line = sys.argv[-1]
    for letters, value in fields.items():
        line = line.replace(letters, value)
    print(line)
"""


@pytest.fixture
def asked(main: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with a login pod in which there are commands of Slurm's names."""
    for name, fields in FIELDS.items():
        (tmp_path / name).write_text(COMMAND.format(python=sys.executable, fields=fields))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    process.note(Layout(cluster="main", state=tmp_path, run=main.directory / "main"), "serve")
    have(main, "Pod", {"name": "login", "labels": {"app.kubernetes.io/name": "login"}}, spec={
        "nodeName": "here", "containers": [{"name": "login", "image": "x"}],
    }, status={"conditions": [{"type": "Ready", "status": "True"}]})  # fmt: skip
    return main


def have(main: Machine, kind: str, metadata: Json, *, status: Json, **fields: Any) -> None:
    """Have an object in namespace slurm, with its status."""
    body: Json = {"apiVersion": "v1", "kind": kind, "metadata": {"namespace": "slurm", **metadata}, **fields}
    main.put(body)
    resource = catalogue.BY_KIND["v1", kind].reading(cast(Any, dict))
    main.there(lambda: main.store.apply_status(resource, body | {"status": status}, manager="test"))


def test_what_people_write_may_hold_whatever_separates(asked: Machine) -> None:
    report = json.loads(asked.run("status", "--output", "json").out)
    assert [one["reason"] for one in report["nodes"]] == ["disk | cable ?[2J"]
    assert [(one["id"], one["name"]) for one in report["jobs"]] == [("7", "a|b|"), ("8", "two")]


def test_a_job_that_waits_says_why_in_both_words(asked: Machine) -> None:
    shown = asked.run("status").out
    [line] = [line for line in shown.splitlines() if "PENDING" in line]
    assert line.split()[:6] == ["7", "a|b|", "ada", "PENDING", "0:00", "(Priority)"]
    assert line.endswith("  Jobs with a higher priority wait for the same nodes and come first.")
    assert "compute-0\n" in shown, "one that runs needs no explanation"


def test_a_claim_that_waits_says_why(asked: Machine) -> None:
    have(asked, "PersistentVolumeClaim", {"name": "bound"}, spec={}, status={"phase": "Bound"})
    have(asked, "PersistentVolumeClaim", {"name": "data"}, spec={}, status={"phase": "Pending"})
    claim = asked.have("pvc", "data")
    asked.put({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "slurm"},
        "eventTime": "2026-11-16T12:00:00.000000Z", "type": "Warning", "reason": "ProvisioningFailed",
        "action": "Look", "reportingController": "x", "reportingInstance": "x", "note": "leave volumeName out",
        "regarding": {"kind": "PersistentVolumeClaim", "name": "data", "uid": claim["metadata"]["uid"]},
    })  # fmt: skip
    lines = asked.run("status").out.partition("CLAIMS\n")[2].splitlines()
    assert [line.split() for line in lines] == [["bound", "Bound"], ["data", "Pending", "leave", "volumeName", "out"]]
