"""`penstock describe` tells an object in full, readable, with what happened to it."""

from __future__ import annotations

from .test_get import event
from .world import World, ago, config_map, node_set, pod, thing


def test_a_node_set_is_told_from_the_top(world: World) -> None:
    conditions = [
        {"type": "Ready", "status": "False", "reason": "Waits", "message": "1 of 2\nworkers are ready",
         "lastTransitionTime": ago(minutes=5)},
    ]  # fmt: skip
    status = {
        "replicas": 2,
        "readyReplicas": 1,
        "slurmIdle": 1,
        "nodeSetHash": "x",
        "selector": "app=w",
        "conditions": conditions,
    }
    world.put(
        node_set(labels={"team": "a", "x": "y"}, status=status),
        event("e", "Drains", "worker-1", ago(minutes=2), "Warning"),
    )
    page = world.says("describe", "nodeset", "compute")
    assert page.startswith(
        "Name:         compute\nNamespace:    slurm\nKind:         NodeSet (slinky.slurm.net/v1beta1)\n"
    )
    for line in (
        "Labels:       team=a\n              x=y\n",
        "Workers:      2 wanted, 2 there, 1 ready\n",
        "In Slurm:     1 idle, 0 allocated, 0 down, 0 draining\n",
        "  slurmd:\n    image:  slurm:26.05\n",
        "Conditions:\n  Type   Status  Since  Reason  Message\n",
        "  Ready  False   5m     Waits   1 of 2 workers are ready\n",
        "Events:\n  Type     Reason  Age  From  Message\n",
        "  Warning  Drains  2m         worker-1\n",
    ):
        assert line in page


def test_a_pod_shows_its_containers_and_volumes(world: World) -> None:
    """The seeds look for `Volumes:` in it."""
    container = {
        "name": "slurmd", "image": "slurm:1", "command": ["slurmd", "-D"], "ports": [{"containerPort": 6818}],
        "env": [{"name": "A", "value": "b"}, {"name": "K", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
        "livenessProbe": {"tcpSocket": {"port": 6818}, "periodSeconds": 5},
        "resources": {"limits": {"cpu": "1"}},
    }  # fmt: skip
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}},
        {"name": "conf", "projected": {"sources": [{"configMap": {"name": "c"}}, {"secret": {"name": "s"}}]}},
        {"name": "tmp", "emptyDir": {}},
    ]
    dead = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": ago(minutes=5)}}
    status = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "slurmd",
                "restartCount": 2,
                "ready": True,
                "state": {"running": {"startedAt": ago(minutes=4)}},
                "lastState": dead,
            }
        ],
    }
    world.put(pod("w", spec={"containers": [container], "volumes": volumes, "nodeName": "m1"}, status=status))
    page = world.says("describe", "po", "w")
    for line in (
        "Status:          Running (1/1 ready, 2 (5m ago) restarts)\n",
        "    State:          Running, since 2026-11-16T11:56:00Z (4m ago)\n",
        "    Last State:     Terminated, ended 2026-11-16T11:55:00Z (5m ago), exit code 1, Error\n",
        "    Command:        slurmd\n                    -D\n",
        "    Environment:    A: b\n                    K: key k of secret s\n",
        "    Mounts:         /data from data (ro)\n",
        "    Liveness:       tcp :6818 period=5s\n",
        "Volumes:\n  data:  PersistentVolumeClaim: data-0\n",
        "  conf:  Projected: configMap c, secret s\n  tmp:   EmptyDir, as long as the pod\n",
    ):
        assert line in page


def test_a_secret_keeps_its_secret_and_a_config_map_shows_all(world: World) -> None:
    world.put(thing("v1", "Secret", "s", data={"k": "c2VjcmV0"}), config_map("c", **{"slurm.conf": "A=1\nB=2"}))
    assert "k:  6 bytes" in world.says("describe", "secret/s")
    assert "secret\n" not in world.says("describe", "secret/s").replace("Kind:         Secret", "")
    assert "  slurm.conf:\n  ----\n" in world.says("describe", "cm/c")
    assert "A=1\n" in world.says("describe", "cm/c")


def test_any_kind_and_the_beginning_of_a_name_will_do(world: World) -> None:
    world.put(
        thing("coordination.k8s.io/v1", "Lease", "leader", spec={"holderIdentity": "me"}),
        thing("policy/v1", "PodDisruptionBudget", "b", spec={"minAvailable": 1}),
        pod("w-0"),
        pod("w-1"),
    )
    assert "Holder:" in world.says("describe", "lease", "leader")
    assert "minAvailable:  1" in world.says("describe", "pdb/b")
    assert world.says("describe", "pod", "w-").count("Name:  ") == 2
    assert '"nobody" not found' in world.run("describe", "pod", "nobody").err
    assert world.run("describe", "pods", "-l", "a=b").err == "No resources found in slurm namespace.\n"


def test_a_value_cannot_give_orders_to_the_terminal(world: World) -> None:
    world.put(thing("v1", "ConfigMap", "c", annotations={"x": "\x1b[2J"}))
    assert "\x1b" not in world.says("describe", "cm/c")
