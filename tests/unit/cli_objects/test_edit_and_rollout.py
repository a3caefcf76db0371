"""edit, rollout, explain and api-resources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.objects import rollouts
from penstock.cli.objects.complaint import Complaint
from penstock.cluster import catalogue

from .world import NOW, World, node_set, pod, thing


def editor(world: World, script: str) -> None:
    """An editor that is a shell script; $1 is the file."""
    path = world.directory / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    world.monkeypatch.setenv("KUBE_EDITOR", str(path))


def test_an_edit_changes_what_was_edited(world: World) -> None:
    world.put(node_set())
    editor(world, "sed -i 's/replicas: 2/replicas: 6/' \"$1\"")
    assert world.says("edit", "nodeset", "compute") == "nodeset.slinky.slurm.net/compute edited\n"
    assert world.have("nss", "compute")["spec"]["replicas"] == 6


@pytest.mark.parametrize("script", ["true", ': > "$1"', 'touch "$1"', "sed -i 's/^spec:/spec: # mine/' \"$1\""])
def test_an_edit_without_a_change_is_cancelled(world: World, script: str) -> None:
    world.put(node_set())
    editor(world, script)
    assert world.says("edit", "nss/compute") == "Edit cancelled, no changes made.\n"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("s/replicas: 2/replicas: -2/", "spec.replicas"),
        ("s/replicas: 2/replicas: [/", "is not YAML"),
        ("s/name: compute/name: other/", "the name cannot be changed"),
        ("s/^kind: .*/kind: Pod/", "kind cannot be changed"),
    ],
)
def test_what_is_refused_comes_back_with_the_reason_on_top(world: World, wrong: str, told: str) -> None:
    world.put(node_set())
    # The first time it writes nonsense; the second time it keeps what it sees, and writes something better.
    mended = "s/replicas: .*/replicas: 3/; s/name: other/name: compute/; s/^kind: .*/kind: NodeSet/"
    editor(world, f'[ -e second ] && exit; [ -e seen ] && cp "$1" second && sed -i "{mended}" "$1" && exit\n'
                  f'touch seen; sed -i "{wrong}" "$1"')  # fmt: skip
    said = world.run("edit", "nss/compute")
    second = (world.directory / "second").read_text()
    comments = "".join(line for line in second.splitlines(True) if line.startswith("#"))
    assert told in comments
    assert said.out == "nodeset.slinky.slurm.net/compute edited\n"
    assert world.have("nss", "compute")["spec"]["replicas"] == 3


def test_work_that_was_refused_is_kept(world: World) -> None:
    world.put(node_set())
    editor(world, 'grep -q replicas:.-2 "$1" || sed -i \'s/replicas: 2/replicas: -2/\' "$1"')
    said = world.run("edit", "nss/compute")
    assert said.code == 1
    kept = said.err.rsplit(" ", 1)[1].strip()
    assert "replicas: -2" in Path(kept).read_text()
    Path(kept).unlink()


def test_an_editor_that_is_not_there_is_told(world: World) -> None:
    world.put(node_set())
    world.monkeypatch.setenv("KUBE_EDITOR", "no-such-editor --wait")
    assert "the editor 'no-such-editor' cannot be started" in world.run("edit", "nss/compute").err
    assert world.run("edit", "nss").code == 2


UPDATING = {"type": "Progressing", "status": "True", "message": "two still have jobs"}
LOST = {"type": "Degraded", "status": "True", "reason": "UnknownRevision", "message": "there is 1 (abc)"}
ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}


def status(kind: str, spec: Any = None, generation: int = 1, **told: Any) -> rollouts.Progress:
    """How far a workload has come."""
    item = {"metadata": {"name": "x", "generation": generation}, "spec": spec or {"replicas": 3}}
    return rollouts.progress(catalogue.find(kind), item | {"status": {"observedGeneration": 1} | told})


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (status("deploy", generation=2), "spec update to be observed"),
        (status("deploy", updatedReplicas=1, replicas=3), "1 out of 3 new replicas"),
        (status("deploy", updatedReplicas=3, replicas=4), "1 old replicas"),
        (status("deploy", updatedReplicas=3, replicas=3, availableReplicas=2), "2 of 3 updated replicas"),
        (status("sts", readyReplicas=1), "Waiting for 2 pods to be ready..."),
        (status("sts", readyReplicas=3, currentRevision="a", updateRevision="b"), "waiting for statefulset"),
        (status("ds", desiredNumberScheduled=2, updatedNumberScheduled=1), "1 out of 2 new pods have been updated..."),
        (status("nss", conditions=[{"type": "Progressing", "status": "True", "message": "drains"}]), ": drains"),
        (status("nss", conditions=[{"type": "Ready", "status": "False", "reason": "Waits"}]), "to finish: Waits"),
        (status("nss"), "nobody has looked at it yet"),
        (status("nss", updatedReplicas=1, desired=3), '"x" rollout to finish: 1 out of 3 workers are of the newest'),
        (status("nss", updatedReplicas=1, desired=3, conditions=[UPDATING]), "newest template: two still have jobs"),
        (status("nss", spec=ON_DELETE, updatedReplicas=1, replicas=1, desired=3), "1 out of 3 workers"),
    ],
)  # fmt: skip
def test_a_rollout_under_way_is_told_in_kubectls_words(progress: rollouts.Progress, words: str) -> None:
    assert words in progress.sentence
    assert not progress.done


@pytest.mark.parametrize(
    "progress",
    [
        status("deploy", updatedReplicas=3, replicas=3, availableReplicas=3),
        status("sts", readyReplicas=3, updatedReplicas=3, currentRevision="a", updateRevision="a"),
        status("ds", desiredNumberScheduled=2, updatedNumberScheduled=2, numberAvailable=2),
        status("nss", conditions=[{"type": "Ready", "status": "True"}, {"type": "Progressing", "status": "False"}]),
    ],
)
def test_a_rollout_that_is_done_is_done(progress: rollouts.Progress) -> None:
    assert progress.done


def test_a_rollout_that_will_not_be_is_told() -> None:
    with pytest.raises(Complaint, match="progress deadline"):
        status("deploy", conditions=[{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}])
    with pytest.raises(Complaint, match="no rollouts of configmaps"):
        status("cm")
    with pytest.raises(Complaint, match=r"OnDelete\): 1 of 3 workers are of the newest template; there is nothing"):
        status("nss", spec=ON_DELETE, updatedReplicas=1, replicas=3, desired=3)
    with pytest.raises(Complaint, match=r'nodeset "x": there is 1 \(abc\)'):
        status("nss", updatedReplicas=3, desired=3, conditions=[LOST])


def deployment(image: str = "a:1") -> Any:
    """A Deployment."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": image}]}}
    return thing("apps/v1", "Deployment", "web", spec={"selector": {"matchLabels": {"a": "b"}}, "template": template})


def test_restart_touches_the_template(world: World) -> None:
    world.put(deployment(), pod("p"))
    assert world.says("rollout", "restart", "deploy/web") == "deployment.apps/web restarted\n"
    annotations = world.have("deploy", "web")["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {"kubectl.kubernetes.io/restartedAt": NOW.strftime("%Y-%m-%dT%H:%M:%SZ")}
    assert "cannot be restarted" in world.run("rollout", "restart", "pod/p").err


def test_history_and_undo(world: World) -> None:
    world.put(deployment("a:2"))
    uid = world.have("deploy", "web")["metadata"]["uid"]
    owner = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True, "uid": uid}]
    for number, image in ((1, "a:1"), (2, "a:2")):
        spec = deployment(image)["spec"]
        spec["template"]["metadata"]["labels"]["pod-template-hash"] = str(number)
        notes = {"deployment.kubernetes.io/revision": str(number)}
        world.put(thing("apps/v1", "ReplicaSet", f"web-{number}", spec=spec, annotations=notes, ownerReferences=owner))
    assert world.says("rollout", "history", "deploy/web") == (
        "deployment.apps/web \nREVISION   CHANGE-CAUSE\n1          <none>\n2          <none>\n\n"
    )
    assert "image: a:1" in world.says("rollout", "history", "deploy/web", "--revision=1")
    assert world.says("rollout", "undo", "deploy/web") == "deployment.apps/web rolled back\n"
    template = world.have("deploy", "web")["spec"]["template"]
    assert template["spec"]["containers"][0]["image"] == "a:1"
    assert template["metadata"]["labels"] == {"a": "b"}
    assert "has no revision 7; there is 1, 2" in world.run("rollout", "undo", "deploy/web", "--to-revision=7").err


def test_the_history_of_a_workload_for_programs(world: World) -> None:
    world.put(deployment("a:2"))
    uid = world.have("deploy", "web")["metadata"]["uid"]
    owner = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True, "uid": uid}]
    notes = {"deployment.kubernetes.io/revision": "4", "kubernetes.io/change-cause": "why not"}
    spec = deployment("a:2")["spec"]
    world.put(thing("apps/v1", "ReplicaSet", "web-4", spec=spec, annotations=notes, ownerReferences=owner))
    told = json.loads(world.says("rollout", "history", "deploy/web", "-o", "json"))
    assert told["name"] == "web"
    assert told["revisions"] == [{"revision": 4, "changeCause": "why not", "template": spec["template"]}]


def test_what_is_no_rollout_is_refused(world: World) -> None:
    world.put(node_set())
    assert world.run("rollout", "fly", "nss/compute").code == 2
    assert world.run("rollout", "status", "nss").code == 2


def test_pause_and_resume(world: World) -> None:
    world.put(deployment())
    assert world.says("rollout", "pause", "deploy/web") == "deployment.apps/web paused\n"
    assert world.have("deploy", "web")["spec"]["paused"] is True
    assert "is paused; go on first" in world.run("rollout", "restart", "deploy/web").err
    assert world.says("rollout", "resume", "deploy/web") == "deployment.apps/web resumed\n"


def test_the_kinds_of_a_cluster(world: World) -> None:
    assert "nodesets                 nss,slurmd   slinky.slurm.net/v1beta1" in world.says("api-resources")
    names = world.says("api-resources", "-o", "name", "--api-group=slinky.slurm.net").splitlines()
    assert len(names) == 6
    assert world.says("api-resources", "--namespaced=false", "-o", "name").splitlines()[:2] == ["namespaces", "nodes"]
