"""On a real Kubernetes our commands show what the real kubectl shows, and what they write is there."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.cli import main
from tests.kube.conftest import NUMBERS
from tests.kube.control_plane import ControlPlane, run

from .machine import Said

OBJECTS = (Path(__file__).parent / "objects.yaml").read_text()
AGE = re.compile(r"(?<=[ (])(\d+[ydhms])+(?= ago|$| )")
KINDS = [
    *(
        "cm",
        "secret",
        "svc",
        "sts",
        "deploy",
        "ds",
        "job",
        "pv",
        "pvc",
        "pdb",
        "lease",
        "sa",
        "netpol",
        "role",
        "sc",
        "ep",
    ),
    *("rolebinding", "endpointslices", "no", "nss", "token", "ns", "pods", "rs", "controllerrevisions", "crd"),
    "pods,svc,sts",
]
WATCHING = {"wait", "delete", "rollout"}
"""Commands that leave a watch in its midst: TLS is not over when they are, which only an end of the process hides."""


class Kubernetes:
    """A real cluster, and both commands in front of it."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace

    def run(self, *words: str, stdin: str = "") -> Said:
        """Run `penstock` to its end."""
        return self._process(words) if words[0] in WATCHING else self._inside(words, stdin)

    def _inside(self, words: Sequence[str], stdin: str) -> Said:
        """In this process: a hundred times the start of Python would be a minute."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            for name, value in self._environment.items():
                patch.setenv(name, value)
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            code = main(words)
        return Said(code, out.getvalue(), err.getvalue())

    def _process(self, words: Sequence[str]) -> Said:
        done = run(sys.executable, "-m", "penstock", *words, env=self._environment)
        return Said(done.returncode, done.stdout, done.stderr)

    @property
    def _environment(self) -> dict[str, str]:
        return {"KUBECONFIG": str(self.plane.kubeconfig), "PENSTOCK_RUN": "/nowhere"}

    def says(self, *words: str, stdin: str = "") -> str:
        """Run `penstock`; it must succeed."""
        said = self.run(*words, stdin=stdin)
        assert said.code == 0, said
        return said.out

    def both(self, *words: str) -> tuple[str, str]:
        """What kubectl says, and what we say."""
        return self.plane.kubectl_says(*words, "-n", self.namespace), self.says(*words, "-n", self.namespace)


@pytest.fixture(scope="module")
def kubernetes(control_plane: ControlPlane, crds: list[str]) -> Kubernetes:
    """A cluster with objects of every kind that has a table of its own, made by `penstock apply`."""
    assert crds
    namespace = f"agrees-{next(NUMBERS)}"
    given = Kubernetes(control_plane, namespace)
    given.says("create", "namespace", namespace)
    applied = given.says("apply", "-n", namespace, "-f", "-", stdin=OBJECTS)
    assert applied.count(" created\n") == OBJECTS.count("\nkind: ")
    # What controllers make of them has to be there, or both commands see another moment.
    given.says("wait", "-n", namespace, "sts/sts", "--for=jsonpath={.status.replicas}=2", "--timeout=60s")
    given.says("wait", "-n", namespace, "pvc/bound", "--for=jsonpath={.status.phase}=Bound", "--timeout=60s")
    given.says("wait", "-n", namespace, "deploy/dep", "job/job", "--for=jsonpath={.status}", "--timeout=60s")
    return given


def lines(text: str) -> list[list[str]]:
    """The cells of a table; ages are of the moment."""
    return [re.split(r" {2,}", AGE.sub("AGE", line.rstrip())) for line in text.splitlines()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
def test_tables_agree(kubernetes: Kubernetes, kind: str, wide: bool) -> None:
    theirs, ours = kubernetes.both("get", kind, *(["-o", "wide"] if wide else []))
    assert lines(ours) == lines(theirs)
    assert len(lines(ours)) > 1


def test_tables_stand_at_the_same_column(kubernetes: Kubernetes) -> None:
    theirs, ours = kubernetes.both("get", "cm", "-o", "custom-columns=NAME:.metadata.name,UID:.metadata.uid")
    assert ours == theirs


@pytest.mark.parametrize("words", ["cm", "nss/compute", "pods,svc", "pv", "sts sts"])
@pytest.mark.parametrize("output", ["name", "json", "yaml", "jsonpath={..metadata.name}"])
def test_other_forms_agree(kubernetes: Kubernetes, words: str, output: str) -> None:
    theirs, ours = kubernetes.both("get", *words.split(), "-o", output)
    readers: dict[str, Callable[[str], Any]] = {"json": json.loads, "yaml": yaml.safe_load}
    read = readers.get(output, str)
    assert read(ours) == read(theirs)


TEMPLATES = [
    "{.items[*].metadata.name}",
    "{range .items[*]}{.metadata.name}{'\\t'}{.spec.type}{\"\\n\"}{end}",
    '{.items[?(@.spec.type=="NodePort")].metadata.name}',
    "{.items[0].spec.ports}",
    "{.items[-1:].metadata.name}",
    "{.items[0:2].metadata.name}",
    "{.items[*]['metadata.name', 'spec.type']}",
    "{.items[*].spec.ports[*].port}",
    "{.items[0].spec.nothing}",
    "{.items[?(@.spec.ports)].metadata.name}",
    "name: {.items[1].metadata.name}!",
    "{.items[*].spec.ports[?(@.port>60)].port}",
    "{.kind}{.items[0].kind}",
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_templates_agree(kubernetes: Kubernetes, template: str) -> None:
    theirs, ours = kubernetes.both("get", "svc", "-o", f"jsonpath={template}")
    assert ours == theirs


def test_a_kind_that_only_the_cluster_knows(kubernetes: Kubernetes) -> None:
    assert "system-node-critical" in kubernetes.says("get", "pc")
    assert "priorityclasses " in kubernetes.says("api-resources")
    said = kubernetes.run("get", "unheard")
    assert said.code == 1
    assert 'there is no kind "unheard"' in said.err


def test_what_kubectl_set_is_taken_back_and_what_a_program_set_is_not(kubernetes: Kubernetes) -> None:
    """The manifest of a person outranks their other tools, but not somebody else."""
    manifest = next(part for part in OBJECTS.split("---\n") if "kind: NodeSet" in part)
    plane, place = kubernetes.plane, ("-n", kubernetes.namespace)
    for words in (
        ["scale", "nss/compute", "--replicas=7"],
        ["patch", "nss/compute", "--type=merge", "-p", '{"spec":{"replicas":8}}'],
    ):
        plane.kubectl_says(*words, *place)
        assert kubernetes.says("apply", *place, "-f", "-", stdin=manifest).endswith(" configured\n")
    assert kubernetes.says("get", "nss/compute", *place, "-o", "jsonpath={.spec.replicas}") == "2"
    theirs = manifest.replace("replicas: 2", "replicas: 9")
    plane.kubectl_says(
        "apply", *place, "--server-side", "--force-conflicts", "--field-manager=robot", "-f", "-", stdin=theirs
    )
    said = kubernetes.run("apply", *place, "-f", "-", stdin=manifest)
    assert said.code == 1
    assert '.spec.replicas belongs to "robot"' in said.err
    assert kubernetes.says("apply", *place, "--force-conflicts", "-f", "-", stdin=manifest).endswith(" configured\n")


def test_edges_of_writing(kubernetes: Kubernetes) -> None:
    """Each is seen by kubectl afterwards."""
    place = ("-n", kubernetes.namespace)
    kubernetes.says(
        "patch",
        "deploy/dep",
        *place,
        "-p",
        '{"spec":{"template":{"spec":{"containers":[{"name":"x","image":"x:2"}]}}}}',
    )
    kubernetes.says("label", "cm", "c", *place, "team=a", "a-")
    kubernetes.says("annotate", "cm/c", *place, "note=hello")
    kubernetes.says("cordon", "agrees")
    kubernetes.says("uncordon", "agrees")
    kubernetes.says("rollout", "restart", "sts/sts", *place)
    see = kubernetes.plane.kubectl_says
    assert see("get", "deploy/dep", *place, "-o", "jsonpath={.spec.template.spec.containers[0].image}") == "x:2"
    assert json.loads(see("get", "cm/c", *place, "-o", "jsonpath={.metadata.labels}")) == {"team": "a"}
    assert see("get", "cm/c", *place, "-o", "jsonpath={.metadata.annotations.note}") == "hello"
    assert see("get", "no/agrees", "-o", "jsonpath={.spec.unschedulable}") == ""
    assert "restartedAt" in see("get", "sts/sts", *place, "-o", "yaml")
    assert "2 " in kubernetes.says("rollout", "history", "deploy/dep", *place)
    assert kubernetes.says("rollout", "undo", "deploy/dep", *place) == "deployment.apps/dep rolled back\n"
    assert see("get", "deploy/dep", *place, "-o", "jsonpath={.spec.template.spec.containers[0].image}") == "x:1"


def test_a_deletion_waits_for_a_hold_to_go(kubernetes: Kubernetes) -> None:
    place, see = ("-n", kubernetes.namespace), kubernetes.plane.kubectl_says
    kubernetes.says("create", "cm", "held", *place)
    see("patch", "cm/held", *place, "--type=merge", "-p", '{"metadata":{"finalizers":["example.org/hold"]}}')
    said = kubernetes.run("delete", "cm/held", *place, "--timeout=1s")
    assert (said.code, "held by example.org/hold" in said.err) == (1, True)
    see("patch", "cm/held", *place, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert kubernetes.says("wait", "cm/held", *place, "--for=delete") == "configmap/held condition met\n"


def test_describe_and_events_tell_of_controllers(kubernetes: Kubernetes) -> None:
    page = kubernetes.says("describe", "sts/sts", "-n", kubernetes.namespace)
    assert re.search(r"Events:\n(.*\n)*? +Normal +SuccessfulCreate", page)
    assert "statefulset/sts" in kubernetes.says("events", "-n", kubernetes.namespace, "--for", "sts/sts")
