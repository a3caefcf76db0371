"""`penstock get` shows what is asked for, in the form that is asked for."""

from __future__ import annotations

import json

import pytest
import yaml

from .world import World, ago, config_map, node_set, pod, thing

READY = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running", "podIP": "10.0.0.1"}
RUNNING = {"name": "slurmd", "ready": True, "restartCount": 0, "state": {"running": {}}}
COUNTS = {"desired": 2, "replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "nodeSetHash": "x", "selector": "a=b"}
PORTS = [{"port": 80, "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]


@pytest.fixture
def stocked(world: World) -> World:
    world.put(
        node_set(status=COUNTS),
        pod("worker-0", labels={"app": "w"}, spec={"nodeName": "m1"}, status=READY | {"containerStatuses": [RUNNING]}),
        pod("worker-10", labels={"app": "w"}),
        pod("worker-9", labels={"app": "v"}),
        config_map("settings", **{"slurm.conf": "ClusterName=x"}),
        thing("v1", "Service", "api", spec={"ports": PORTS, "type": "NodePort", "selector": {"app": "w"}}),
    )
    return world


def test_a_table_of_ours_has_the_columns_of_its_crd(stocked: World) -> None:
    assert stocked.says("get", "nodesets") == (
        "NAME      DESIRED   REPLICAS   UPDATED   READY   AGE\ncompute   2         2          2         1       0s\n"
    )
    wide = stocked.says("get", "nss", "-o", "wide").splitlines()
    assert wide[0].split() == [
        *("NAME", "DESIRED", "REPLICAS", "UPDATED", "READY"),
        *("IDLE", "ALLOCATED", "DOWN", "DRAIN", "AGE"),
    ]


def test_a_table_of_pods_is_kubectls(stocked: World) -> None:
    assert stocked.says("get", "po", "-o", "wide", "-l", "app=w") == (
        "NAME        READY   STATUS    RESTARTS   AGE   IP         NODE     NOMINATED NODE   READINESS GATES\n"
        "worker-0    1/1     Running   0          0s    10.0.0.1   m1       <none>           <none>\n"
        "worker-10   0/1     Pending   0          0s    <none>     <none>   <none>           <none>\n"
    )


def test_several_kinds_are_told_apart(stocked: World) -> None:
    assert stocked.says("get", "cm,svc", "--no-headers") == (
        "configmap/settings   1     0s\n\nservice/api   NodePort   <none>   <none>   80:30080/TCP,53/UDP   0s\n"
    )


def test_all_shows_what_runs(stocked: World) -> None:
    shown = stocked.says("get", "all")
    assert "pod/worker-0" in shown
    assert "service/api" in shown
    assert "settings" not in shown


def test_names_sorting_labels_and_namespaces(stocked: World) -> None:
    assert stocked.says("get", "pods", "-o", "name", "--sort-by=.metadata.name") == (
        "pod/worker-0\npod/worker-9\npod/worker-10\n"
    )
    assert stocked.says(
        "get", "pods", "worker-0", "--all-namespaces=false", "-L", "app", "--show-labels"
    ).splitlines() == [
        "NAME       READY   STATUS    RESTARTS   AGE   APP   LABELS",
        "worker-0   1/1     Running   0          0s    w     app=w",
    ]
    assert stocked.says("get", "cm", "-A").splitlines()[1].split() == ["slurm", "settings", "1", "0s"]


def test_yaml_and_json_are_whole_objects(stocked: World) -> None:
    one = yaml.safe_load(stocked.says("get", "nss/compute", "-o", "yaml"))
    assert one["kind"] == "NodeSet"
    assert one["spec"]["slurmd"] == {"image": "slurm:26.05"}
    assert "managedFields" not in one["metadata"]
    several = json.loads(stocked.says("get", "pods", "-o", "json"))
    assert several["kind"] == "List"
    assert {item["kind"] for item in several["items"]} == {"Pod"}
    kept = json.loads(stocked.says("get", "nss/compute", "-o", "json", "--show-managed-fields"))
    assert kept["metadata"]["managedFields"]


def test_templates_of_ones_own(stocked: World) -> None:
    assert stocked.says("get", "cm", "settings", "-o", r"jsonpath={.data.slurm\.conf}") == "ClusterName=x"
    assert stocked.says("get", "pods", "-o", "custom-columns=WHO:.metadata.name,NODE:.spec.nodeName", "worker-0") == (
        "WHO        NODE\nworker-0   m1\n"
    )


def test_what_is_missing_is_told_and_the_rest_is_shown(stocked: World) -> None:
    said = stocked.run("get", "pods", "worker-0", "nobody")
    assert said.code == 1
    assert "worker-0   1/1" in said.out
    assert said.err == (
        'penstock get: pod "nobody" not found in namespace "slurm"; `penstock get pods -n slurm` shows those that are\n'
    )
    assert stocked.says("get", "pods", "nobody", "--ignore-not-found") == ""


def test_nothing_is_said_on_the_side(world: World) -> None:
    said = world.run("get", "pods")
    assert (said.code, said.out, said.err) == (0, "", "No resources found in slurm namespace.\n")
    assert world.run("get", "pods", "-A").err == "No resources found\n"
    assert json.loads(world.says("get", "pods", "-o", "json"))["items"] == []


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["pdos"], 1, 'there is no kind "pdos"; did you mean "pods"?'),
        ([], 2, "name objects"),
        (["pods", "-o", "xml"], 2, "-o 'xml' is not known; write one of json, yaml"),
        (["pods", "-o", "jsonpath"], 2, "-o jsonpath needs its text"),
        (["pods", "-o", "jsonpath={.a"], 2, "'}' is missing"),
        (["pods", "x", "-l", "a=b"], 2, "names do not go together with selectors"),
        (["pods", "-l", "a in"], 1, "unable to parse"),
        (["all", "x"], 2, "all is many kinds"),
        (["pods", "-k", "x", "-f", "y"], 2, "not both"),
        (["-k", "x", "-f", "y"], 2, "kustomize build"),
    ],
)
def test_a_wrong_question_gets_a_clear_answer(world: World, words: list[str], code: int, told: str) -> None:
    said = world.run("get", *words)
    assert (said.code, said.out) == (code, "")
    assert told in said.err
    assert said.err.startswith("penstock get: ")


def test_events_are_a_table_of_their_own(world: World) -> None:
    world.put(
        event("a", "Ready", "2 of 2", ago(minutes=1)), event("b", "Waits", "for Slurm\nlong", ago(minutes=5), "Warning")
    )
    assert world.says("events") == (
        "LAST SEEN   TYPE      REASON   OBJECT            MESSAGE\n"
        "5m          Warning   Waits    nodeset/compute   for Slurm...\n"
        "60s         Normal    Ready    nodeset/compute   2 of 2\n"
    )
    assert len(world.says("events", "--types=Warning", "--no-headers").splitlines()) == 1
    assert len(world.says("events", "--for", "nss/compute", "--no-headers").splitlines()) == 2
    assert "No events found in slurm namespace." in world.run("events", "--for", "pod/compute").err


def event(name: str, reason: str, note: str, when: str, kind: str = "Normal") -> dict[str, object]:
    """An event about NodeSet compute."""
    regarding = {"kind": "NodeSet", "name": "compute", "namespace": "slurm"}
    return thing(
        "events.k8s.io/v1", "Event", name, type=kind, reason=reason, note=note, eventTime=when, regarding=regarding
    )
