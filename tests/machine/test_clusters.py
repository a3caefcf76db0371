"""Several clusters of one machine, clusters of one's own manifests, and what a reboot leaves of one."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from penstock.engine import mounts, processes
from penstock.engine.record import Record

from .jobs import held, job_state
from .site import Site, eventually, is_ready
from .traces import containers, process_of, traces

SMALL = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: slurm-cgroup}}
data: {{cgroup.conf: "CgroupPlugin=disabled\\n"}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {{name: slurm}}
spec:
  slurmKeyRef: {{name: slurm-auth-slurm, key: slurm.key}}
  jwtKeyRef: {{name: slurm-auth-jwt, key: jwt.key}}
  slurmctld: {{image: "{slurm}"}}
  reconfigure: {{image: "{slurm}"}}
  configFileRefs: [{{name: slurm-cgroup}}]
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {{name: small}}
spec:
  controllerRef: {{name: slurm}}
  replicas: 1
  slurmd: {{image: "{worker}"}}
  template: {{spec: {{hostname: small-}}}}
  partition: {{enabled: true, config: Default=YES MaxTime=24:00:00 State=UP}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: LoginSet
metadata: {{name: login}}
spec:
  controllerRef: {{name: slurm}}
  login: {{image: "{login}"}}
  initconf: {{image: "{login}"}}
  sssdConfRef: {{name: slurm-sssd-conf, key: sssd.conf}}
"""
"""The least that `penstock up` can run a job on; without a word about namespaces."""


@pytest.fixture(scope="module")
def small(shared: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Have a small cluster beside the default one, of a manifest of its own; nothing of it is left."""
    images = {role: shared.get(kind, name)["spec"][part]["image"] for role, (kind, name, part) in _IMAGES.items()}
    other = shared.beside(f"{shared.name}-b")
    other.manifest = tmp_path_factory.mktemp("small") / "small.yaml"
    other.manifest.write_text(SMALL.format(**images))
    try:
        other.up("--file", str(other.manifest))
        yield other
    finally:
        other.down()
    assert traces(other) == []


_IMAGES = {
    "slurm": ("controllers", "slurm", "slurmctld"),
    "worker": ("nodesets", "slurm-worker-compute", "slurmd"),
    "login": ("loginsets", "slurm-login", "login"),
}


def test_two_clusters_side_by_side_know_nothing_of_each_other(cluster: Site, small: Site) -> None:
    """The same addresses, the same names, other ports; each command reaches the cluster that it names (ONE-3)."""
    before = containers(cluster)
    assert small.slurm("srun", "hostname") == "small-0\n"
    assert cluster.says("slurm", "--cluster", cluster.name, "--", "sinfo", "-ho", "%P") == "compute*\n"
    assert cluster.says("slurm", "--cluster", small.name, "--", "sinfo", "-ho", "%P %l") == "small* 1-00:00:00\n"
    assert {small.port("ssh"), small.port("rest")}.isdisjoint({cluster.port("ssh"), cluster.port("rest")})
    assert small.execute("slurm-controller-0", "getent", "hosts", "compute-0").code == 2
    assert _addresses(small) & _addresses(cluster)
    small.says("delete", "pod", "small-0")
    small.until("nodesets", "small", is_ready)
    assert containers(cluster) == before


def test_a_cluster_of_another_namespace_is_proved_there(cluster: Site, tmp_path: Path) -> None:
    """`up --file` says where to look, runs its job where the nodes are, and makes the keys there."""
    images = {role: cluster.get(kind, name)["spec"][part]["image"] for role, (kind, name, part) in _IMAGES.items()}
    other = cluster.beside(f"{cluster.name}-c")
    other.manifest = tmp_path / "lab.yaml"
    other.manifest.write_text(re.sub(r"(metadata: {name: [\w-]+)}", r"\1, namespace: lab}", SMALL.format(**images)))
    try:
        said = other.run("up", "--detach", "--file", str(other.manifest))
        assert said.code == 0, said.err + other.trouble()
        assert "a job has run on small-0 (" in said.err
        assert f"penstock status --cluster {other.name} -n lab\n" in said.out
        assert other.says("slurm", "-n", "lab", "--", "srun", "--", "hostname") == "small-0\n"
    finally:
        other.down()
    assert traces(other) == []


def test_after_a_power_cut_and_a_reboot_up_begins_anew_with_what_was_on_disk(small: Site) -> None:
    """First all processes die at once; then mounts, networks and all below /run are gone, too (ONE-2)."""
    key = small.get("secrets", "slurm-auth-slurm")["data"]
    for take_away in (_kill_all, _reboot):
        waiting, before = held(small), containers(small)
        take_away(small)
        small.up("--file", str(small.manifest))
        after = containers(small)
        assert after.keys() == before.keys()
        assert not {one.init for one in before.values()} & {one.init for one in after.values()}
        assert small.get("secrets", "slurm-auth-slurm")["data"] == key
        small.slurm("scontrol", "release", str(waiting))
        eventually(lambda: small.slurm("squeue", "-h"), lambda told: told == "")
        assert job_state(small, waiting) == "COMPLETED"


def test_down_and_up_again_goes_on_where_it_was(small: Site) -> None:
    """`down` without --purge leaves nothing that runs, and all that is kept."""
    waiting = int(small.slurm("sbatch", "--parsable", "--hold", "--output=/dev/null", "--wrap=true"))
    small.says("down")
    assert [line for line in traces(small) if not line.startswith("file ")] == []
    assert small.run("get", "pods").code == 1
    assert small.run("status").code == 1
    small.up("--file", str(small.manifest))
    assert job_state(small, waiting) == "PENDING"
    small.slurm("scancel", str(waiting))


def test_a_pod_that_has_ended_stays_as_it_is_over_down_and_up_and_can_be_deleted(small: Site) -> None:
    """Nobody starts it again, and nobody is needed to let it go."""
    image = small.get("nodesets", "small")["spec"]["slurmd"]["image"]
    body = {"restartPolicy": "Never", "containers": [{"name": "main", "image": image, "command": ["true"]}]}
    small.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ended"}, "spec": body})
    done = small.until("pods", "ended", lambda pod: pod["status"]["phase"] == "Succeeded")
    small.says("down")
    small.up("--file", str(small.manifest))
    assert small.get("pods", "ended")["status"] == done["status"]
    small.says("delete", "pod", "ended", "--timeout=30s")


def test_what_up_shows_is_what_up_takes(cluster: Site) -> None:
    """The default cluster, printed and given back, changes nothing."""
    shown = cluster.says("up", "--show", "--suite", cluster.suite)
    before = containers(cluster), _generations(cluster)
    cluster.says("up", "--detach", "--file", "-", stdin=shown)
    assert (containers(cluster), _generations(cluster)) == before


def test_up_says_what_is_missing_and_starts_nothing(cluster: Site) -> None:
    """Not root; a port that somebody has; a name that nobody can have; a manifest that is none."""
    other = cluster.beside("other")
    refused = other.run("up", "--detach", program=("unshare", "--user"))
    assert (refused.code, "run it as root" in refused.err) == (1, True)
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        refused = other.run("up", "--detach", "--ssh-port", str(port))
    assert refused.code == 1
    assert f"port {port} of 127.0.0.1 is in use; choose another: --ssh-port" in refused.err
    assert "is not the name of a cluster" in other.run("up", "--cluster", "../x").err
    assert "is not the name of a cluster" in other.run("down", "--cluster", "..", "--purge", "--yes").err
    refused = other.run("up", "--detach", "--file", "-", stdin="a: [")
    assert refused.code == 1, refused
    assert re.search(r"standard input:\d+: is not YAML", refused.err), refused
    refused = other.run("up", "--detach", "--file", "-", stdin="{apiVersion: v1, kind: Gizmo, metadata: {name: x}}")
    assert (refused.code, "Gizmo of v1 is not a kind" in refused.err) == (1, True)
    other.down()
    assert traces(other) == []


def test_status_is_one_screen(cluster: Site) -> None:
    """Everything of the cluster in one look, and as JSON for programs."""
    page = cluster.says("status")
    for words in ("Controller/slurm", "slurm-worker-compute-1", "compute-0", "statesave-slurm-controller-0"):
        assert words in page
    told = msgspec.json.decode(cluster.says("status", "--output", "json"))
    assert all(one["ready"] for one in told["things"])
    assert {one["name"] for one in told["nodes"] if one["state"] == "idle"} >= {"compute-0", "compute-1"}


def test_status_shows_what_people_write_whole(cluster: Site) -> None:
    """A bar in a name or a reason hides nothing; a job that waits says why."""
    job = cluster.slurm("sbatch", "--parsable", "--hold", "--job-name=a|b", "--output=/dev/null", "--wrap=true").strip()
    cluster.slurm("scontrol", "update", "NodeName=compute-1", "State=DRAIN", "Reason=disk | cable")
    try:
        told = msgspec.json.decode(cluster.says("status", "--output", "json"))
    finally:
        cluster.slurm("scancel", job)
        cluster.slurm("scontrol", "update", "NodeName=compute-1", "State=UNDRAIN")
    [shown] = [one for one in told["jobs"] if one["id"] == job]
    assert (shown["name"], shown["where"]) == ("a|b", "(JobHeldUser)")
    assert shown["why"].startswith("The job is on hold")
    assert "disk | cable" in [one["reason"] for one in told["nodes"]]


def test_a_cluster_that_runs_keeps_its_ports(cluster: Site) -> None:
    """Neither who asks for others nor who asks for a unit changes what is noted of them."""
    ssh, rest = cluster.port("ssh"), cluster.port("rest")
    refused = cluster.run("up", "--detach", "--suite", cluster.suite, "--ssh-port", "1")
    assert (refused.code, f"runs, with ssh on port {ssh} " in refused.err) == (1, True), refused
    assert f"--ssh-port {ssh} --rest-port {rest}\n" in cluster.says("up", "--systemd-unit")
    assert (cluster.port("ssh"), cluster.port("rest")) == (ssh, rest)


def _kill_all(site: Site) -> None:
    """End every process at once, without a word."""
    known = [one for record in containers(site).values() for one in (record.conmon, record.init)]
    for one in (process_of(site, "supervise"), process_of(site, "serve"), *known):
        assert one is not None
        processes.send(one, signal.SIGKILL)
    eventually(lambda: [line for line in traces(site) if line.startswith("process ")], lambda left: left == [])


def _reboot(site: Site) -> None:
    """Take everything away that a reboot does."""
    _kill_all(site)
    mounts.unmount_below(site.layout.state)
    for path in Path("/run/netns").glob(f"penstock-{site.name}*"):
        if path.name == f"penstock-{site.name}" or path.name.startswith(f"penstock-{site.name}."):
            subprocess.run(["ip", "netns", "delete", path.name], check=True)
    for top in (*Path("/sys/fs/cgroup").glob(f"*/penstock/{site.name}"), Path("/sys/fs/cgroup/penstock", site.name)):
        for path in sorted(top.rglob("*/"), reverse=True) if top.exists() else ():
            path.rmdir()
        if top.exists():
            top.rmdir()
    for path in sorted(site.layout.run.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    # The next run of the machine has another number.
    (site.layout.state / "boot").write_text("the boot before")
    for path in site.layout.pods.glob("*/containers/*/*/container.json"):
        record = msgspec.json.decode(path.read_bytes(), type=Record)
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(record, boot="the boot before")))
    assert [line for line in traces(site) if not line.startswith("file ")] == []


def _generations(cluster: Site) -> dict[str, int]:
    kinds = ("accountings", "controllers", "restapis", "nodesets", "loginsets", "statefulsets")
    return {
        f"{kind}/{one['metadata']['name']}": one["metadata"]["generation"]
        for kind in kinds
        for one in cluster.all(kind)
    }


def _addresses(cluster: Site) -> set[str]:
    return {pod["status"]["podIP"] for pod in cluster.all("pods")}
