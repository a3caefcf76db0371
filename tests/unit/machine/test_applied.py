"""What `penstock up` says of a cluster comes from its manifests: namespaces, names, keys."""

from __future__ import annotations

from pathlib import Path

from penstock.api.kinds import API_VERSION
from penstock.api.objects import Json
from penstock.cli.next_steps import next_steps
from penstock.cli.starting import Begun
from penstock.engine.layout import Layout
from penstock.machine import manifest
from penstock.machine.applied import Named, applied
from penstock.machine.ports import Ports


def ours(kind: str, name: str, namespace: str | None = None) -> Json:
    """An object of ours, as people write it."""
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, **where}, "spec": {}}


def told(place: Path, *objects: Json, cluster: str = "main") -> dict[str, str]:
    """The next steps after these were applied, by what they do."""
    layout = Layout(cluster=cluster, state=place / "state", run=place / "run")
    begun = Begun(objects=[*objects], made=[], ports=Ports(2200, 6800), ran=False, alive=lambda: True, at=0.0)
    lines = next_steps(layout, begun).strip().split("\n\n")[0].splitlines()
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}


def test_namespaces_are_those_of_our_kinds_in_their_order() -> None:
    config: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "other"}}
    found = applied([config, ours("Controller", "slurm", "lab"), ours("NodeSet", "gpu", "lab"), ours("NodeSet", "x")])
    assert found.namespaces == ["lab", "slurm"]
    assert found.first("NodeSet") == Named("NodeSet", "lab", "gpu")
    assert applied([config]).namespaces == ["slurm"]


def test_keys_are_made_where_the_cluster_is() -> None:
    assert {key["metadata"]["namespace"] for key in manifest.keys(["lab", "far"])} == {"lab", "far"}
    one, other = (manifest.keys([name])[0]["stringData"] for name in ("lab", "far"))
    assert one != other, "no cluster has the key of another one"


def test_the_next_steps_name_what_was_applied(tmp_path: Path) -> None:
    steps = told(tmp_path, ours("NodeSet", "gpu", "lab"), ours("LoginSet", "door", "lab"), cluster="big")
    assert steps["look"] == "penstock status --cluster big -n lab"
    assert steps["submit"] == "penstock slurm --cluster big -n lab -- sbatch --wrap 'srun hostname'"
    assert steps["scale"] == "penstock scale --cluster big -n lab nodeset/gpu --replicas 5"
    assert steps["ssh"].startswith("ssh -p 2200 -i ")


def test_nothing_is_proposed_that_is_not_there(tmp_path: Path) -> None:
    assert [*told(tmp_path, ours("Controller", "slurm"))] == ["look", "stop"]


def test_the_default_cluster_is_told_as_ever(tmp_path: Path) -> None:
    objects = manifest.default(manifest.Wishes(images=manifest.usual_images("forky")))
    steps = told(tmp_path, *objects)
    assert (steps["look"], steps["stop"]) == ("penstock status", "penstock down")
    assert steps["scale"] == "penstock scale nodeset/slurm-worker-compute --replicas 5"
