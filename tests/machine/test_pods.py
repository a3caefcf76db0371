"""Pods on one machine run as they would under kubelet: what surrounds their containers, and what these may do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .pods import config_map, container, objects, pod, python, ready, secret
from .site import NAMESPACE, Site

TELL = """
import json, os, stat
def mode(path): return oct(os.stat(path).st_mode & 0o7777)
def status(): return dict(line.rstrip().split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
def kind(path):
    found = [line.split() for line in open("/proc/self/mounts")]
    return [one[2] for one in found if one[1] == path][-1]
def refused(path):
    try: open(path, "w").close()
    except OSError as error: return error.strerror
    return ""
"""


def told(cluster: Site, name: str, expression: str, *, inside: str = "main") -> Any:
    """What a container finds out about itself."""
    program = f"{TELL}\nprint(json.dumps({expression}))"
    return json.loads(cluster.inside(name, "python3", "-c", program, container=inside))


def test_variables(cluster: Site) -> None:
    """Plain ones, those that use others, from ConfigMaps and Secrets, and what the pod is told of itself."""
    env = [
        {"name": "PLAIN", "value": "a b"},
        {"name": "MADE_OF", "value": "$(PLAIN)-$$(PLAIN)-$(MISSING)"},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
        {"name": "WORD", "valueFrom": {"configMapKeyRef": {"name": "words", "key": "first"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "word"}}},
        {"name": "NEVER", "valueFrom": {"secretKeyRef": {"name": "nobody", "key": "word", "optional": True}}},
    ]
    main = container(
        "main", env=env, envFrom=[{"prefix": "P_", "configMapRef": {"name": "words"}}],
        args=["$(PLAIN)"], resources={"limits": {"memory": "64Mi"}}, workingDir="/tmp",
    )  # fmt: skip
    with objects(cluster, config_map("words", first="one"), secret("hidden", word="hush")), pod(cluster, "env", main):
        address = ready(cluster, "env")["status"]["podIP"]
        found = told(cluster, "env", "[dict(os.environ), os.getcwd(), open('/proc/1/cmdline').read()]")
        assert found[0] | {
            "PLAIN": "a b", "MADE_OF": "a b-$(PLAIN)-$(MISSING)", "POD": "env", "ADDRESS": address, "LABEL": "env",
            "MEMORY": "64", "WORD": "one", "SECRET": "hush", "P_first": "one", "HOSTNAME": "env",
        } == found[0]  # fmt: skip
        assert "NEVER" not in found[0]
        assert found[1] == "/tmp"


def test_volumes(cluster: Site, tmp_path: Path) -> None:
    """Every kind of volume is what it says; two containers of a pod share them."""
    (tmp_path / "there").write_text("on the machine")
    volumes = [
        {"name": "words", "configMap": {"name": "words", "items": [{"key": "first", "path": "deep/word"}]}},
        {"name": "hidden", "secret": {"secretName": "hidden", "defaultMode": 0o400}},
        {"name": "all", "projected": {"sources": [
            {"configMap": {"name": "words"}},
            {"secret": {"name": "hidden"}},
            {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        ]}},
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {"name": "disk", "emptyDir": {}},
        {"name": "host", "hostPath": {"path": str(tmp_path), "type": "Directory"}},
    ]  # fmt: skip
    mounts = [
        {"name": "words", "mountPath": "/words"},
        {"name": "words", "mountPath": "/etc/one-word", "subPath": "deep/word"},
        {"name": "hidden", "mountPath": "/hidden"},
        {"name": "all", "mountPath": "/all"},
        {"name": "memory", "mountPath": "/memory"},
        {"name": "disk", "mountPath": "/disk", "subPath": "part"},
        {"name": "host", "mountPath": "/host", "readOnly": True},
    ]
    other = container("other", volumeMounts=[{"name": "disk", "mountPath": "/all-of-it"}])
    with (
        objects(cluster, config_map("words", first="one"), secret("hidden", word="hush")),
        pod(cluster, "volumes", container("main", volumeMounts=mounts), other, volumes=volumes),
    ):
        ready(cluster, "volumes")
        assert told(cluster, "volumes", "[open(path).read() for path in ('/words/deep/word', '/etc/one-word')]") == [
            "one", "one",
        ]  # fmt: skip
        assert told(cluster, "volumes", "[open('/hidden/word').read(), mode('/hidden/word')]") == ["hush", "0o400"]
        assert told(cluster, "volumes", "sorted(x for x in os.listdir('/all') if x[0] != '.')") == [
            "first", "labels", "word",
        ]  # fmt: skip
        assert told(cluster, "volumes", "open('/all/labels').read()") == 'app="volumes"'
        assert told(cluster, "volumes", "[kind('/memory'), os.statvfs('/memory').f_blocks * 4096]") == [
            "tmpfs", 1 << 20,
        ]  # fmt: skip
        assert told(cluster, "volumes", "[open('/host/there').read(), refused('/host/x')]") == [
            "on the machine", "Read-only file system",
        ]  # fmt: skip
        assert told(cluster, "volumes", "[refused('/words/x'), refused('/disk/mine')]") == ["Read-only file system", ""]
        assert cluster.inside("volumes", "ls", "/all-of-it/part", container="other") == "mine\n"


def test_config_maps_and_secrets_change_under_a_running_pod_as_a_whole(cluster: Site) -> None:
    """A reader sees both old values or both new ones; the container is not touched."""
    watcher = """
import os, time
while True:
    os.chdir("/config"); os.chdir(os.path.realpath("..data"))
    try: pair = open("a").read(), open("b").read()
    except FileNotFoundError: continue
    if pair[0] != pair[1]: print("torn", pair)
    if pair[0] == "2" and open("/secret/word").read() == "new": break
    time.sleep(0.005)
print("both are new"); time.sleep(1000)
"""
    volumes = [
        {"name": "config", "configMap": {"name": "pair"}},
        {"name": "secret", "secret": {"secretName": "hidden"}},
    ]
    mounts = [{"name": "config", "mountPath": "/config"}, {"name": "secret", "mountPath": "/secret"}]
    with (
        objects(cluster, config_map("pair", a="1", b="1"), secret("hidden", word="old")),
        pod(cluster, "watcher", container("main", python(watcher), volumeMounts=mounts), volumes=volumes),
    ):
        before = ready(cluster, "watcher")["status"]["containerStatuses"]
        with cluster.started("logs", "--follow", "watcher") as log:
            cluster.says("patch", "configmap", "pair", "-p", '{"data":{"a":"2","b":"2"}}')
            cluster.says("patch", "secret", "hidden", "-p", '{"stringData":{"word":"new"}}')
            assert log.stdout is not None
            assert log.stdout.readline() == "both are new\n"
        assert cluster.get("pods", "watcher")["status"]["containerStatuses"] == before


def test_rights(cluster: Site) -> None:
    """Users, groups, capabilities, a root that cannot be written, no way to more: as the pod says."""
    strict = {
        "runAsUser": 1234, "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    powerful = {"runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN", "CHOWN"]}}
    mounts = [{"name": "disk", "mountPath": "/disk"}]
    with pod(
        cluster, "rights",
        container("main", securityContext=strict, volumeMounts=mounts),
        container("powerful", securityContext=powerful, volumeMounts=mounts),
        container("all", securityContext={"privileged": True, "runAsUser": 0}),
        securityContext={"runAsGroup": 2345, "fsGroup": 3456, "supplementalGroups": [4567]},
        volumes=[{"name": "disk", "emptyDir": {}}],
    ):  # fmt: skip
        ready(cluster, "rights")
        assert told(cluster, "rights", "[os.getuid(), os.getgid(), sorted(os.getgroups())]") == [
            1234, 2345, [3456, 4567],
        ]  # fmt: skip
        assert told(cluster, "rights", "[refused('/x'), refused('/disk/x'), os.stat('/disk/x').st_gid]") == [
            "Read-only file system", "", 3456,
        ]  # fmt: skip
        assert told(cluster, "rights", "[status()[x] for x in ('CapBnd', 'CapEff', 'NoNewPrivs')]") == [
            "0" * 16, "0" * 16, "1",
        ]  # fmt: skip
        limited = told(cluster, "rights", "[status()[x] for x in ('CapEff', 'NoNewPrivs')]", inside="powerful")
        assert limited == [f"{1 << 12 | 1:016x}", "0"]
        everything = told(cluster, "rights", "[status()['CapEff'], os.path.exists('/dev/kmsg')]", inside="all")
        assert everything == [Path("/proc/self/status").read_text().partition("CapBnd:\t")[2][:16], True]


def test_a_pod_that_asks_for_what_is_not_done_here_does_not_start_and_says_why(cluster: Site) -> None:
    """Less than it asked for would be worse."""
    volumes = [{"name": "far", "nfs": {"server": "far", "path": "/"}}]
    with pod(cluster, "refused", container("main"), volumes=volumes):
        found = cluster.until("pods", "refused", lambda body: (body.get("status") or {}).get("containerStatuses"))
        assert "nfs" in found["status"]["containerStatuses"][0]["state"]["waiting"]["message"]


def test_a_missing_config_map_is_waited_for(cluster: Site) -> None:
    """It says for what; when that comes, the pod starts."""
    volumes = [{"name": "config", "configMap": {"name": "late"}}]
    with pod(cluster, "waits", container("main"), volumes=volumes):
        found = cluster.until("pods", "waits", lambda body: "late" in str(body.get("status") or {}))
        assert found["status"]["phase"] == "Pending"
        with objects(cluster, config_map("late", a="1")):
            ready(cluster, "waits")


def test_pods_that_leave_while_they_start_leave_nothing(cluster: Site) -> None:
    """Whatever was half made is gone when the store forgets them."""
    volumes = [{"name": "hidden", "secret": {"secretName": "hidden"}}, {"name": "disk", "emptyDir": {}}]
    mounts = [{"name": "hidden", "mountPath": "/hidden"}, {"name": "disk", "mountPath": "/disk"}]
    with objects(cluster, secret("hidden", word="hush")):
        for number in range(6):
            with pod(cluster, f"brief-{number}", container("main", volumeMounts=mounts), volumes=volumes):
                has_begun = [lambda body: body["spec"].get("nodeName"), lambda body: body["status"].get("podIP")]
                cluster.until("pods", f"brief-{number}", has_begun[number % 2])
    known = {one["metadata"]["uid"] for one in cluster.all("pods")}
    assert {path.name for path in cluster.layout.pods.iterdir()} == known
    here = f"penstock-{cluster.name}."
    assert {path.name.removeprefix(here) for path in Path("/run/netns").glob(f"{here}*")} == known


def test_names(cluster: Site) -> None:
    """A pod is called by its hostname in its subdomain, a Service by its name, in every spelling (TR-4)."""
    domain = f"{NAMESPACE}.svc.cluster.local"
    for number in range(2):
        address = cluster.get("pods", f"slurm-worker-compute-{number}")["status"]["podIP"]
        full = f"compute-{number}.slurm-workers-slurm.{domain}"
        spellings = [f"compute-{number}", *(full.rsplit(".", cut)[0] for cut in (0, 2, 3, 4))]
        for where in ("slurm-worker-compute-0", "slurm-controller-0"):
            assert answers(cluster, where, *spellings) == {address}, spellings
        assert cluster.inside("slurm-worker-compute-0", "getent", "hosts", address).split()[1] == full
    behind = {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in cluster.all("pods")}
    wanted = {behind[name] for name in behind if "worker" in name or "restapi" in name}
    assert answers(cluster, "slurm-controller-0", "slurm-workers-slurm", "slurm-restapi.slurm.svc") == wanted
    unknown = cluster.execute("slurm-controller-0", "getent", "hosts", "nobody.example")
    assert (unknown.code, unknown.out) == (2, "")


def answers(cluster: Site, where: str, *names: str) -> set[str]:
    """The addresses that a pod finds for names, of which each has some."""
    said = [cluster.inside(where, "getent", "ahostsv4", name).splitlines() for name in names]
    return {line.split()[0] for lines in said for line in lines}
